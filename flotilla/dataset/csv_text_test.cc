#include "flotilla/dataset/csv_text.h"

#include <gtest/gtest.h>

#include "flotilla/dataset/csv_cells.h"

namespace flotilla {
namespace {

TEST(CsvTextTest, TextsThatAreNotWrittenAreThoseThatAReaderFinds) {
  for (const char delimiter : {',', '\t'}) {
    for (const bool trim : {false, true}) {
      for (const std::string_view text : {"", "a", " ", " a\t", "a,b ", " a\tb", " \"a\" ", "\"",
                                          "a\nb", "\na ", "a\r\n", " a b "}) {
        std::string line = "x";
        line += delimiter;
        AppendCsvText(text, delimiter, &line);
        CsvCells cells;
        ASSERT_TRUE(cells.Split(line, CsvForm(delimiter, true, trim), 10).ok()) << line;
        ASSERT_EQ(cells.size(), 2u) << line;
        std::deque<std::string> copies;
        const std::string_view trimmed = trim ? TrimmedCsvText(text, delimiter) : text;
        EXPECT_EQ(OneLine(trimmed, &copies), cells.text(1)) << line;
      }
    }
  }
}

TEST(CsvTextTest, OneLineCopiesOnlyTextsWithLineEnds) {
  std::deque<std::string> copies;
  const std::string_view text = "one line";
  EXPECT_EQ(OneLine(text, &copies).data(), text.data());
  EXPECT_TRUE(copies.empty());
}

}  // namespace
}  // namespace flotilla
