#include "flotilla/dataset/detect_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FormatOf(const std::vector<std::string>& lines) {
  const StatusOr<DetectedFormat> found = DetectFormat(lines);
  return found.ok() ? found->format : std::string(Message(found.status()));
}

TEST(DetectFormatTest, EveryFormatIsFoundFromItsLines) {
  std::string criteo;
  SynthCriteo::Make({.seed = 1})->Row(0, &criteo);
  EXPECT_EQ(FormatOf({criteo, criteo}), "criteo");
  EXPECT_EQ(FormatOf({"1 3:1 7:0.5", "-1 2:1 # comment", "", "+1 4:1"}), "libsvm");
  EXPECT_EQ(FormatOf({"2 qid:7 3:1", "1 qid:7 2:1"}), "libsvm");
  EXPECT_EQ(FormatOf({"1 0:3:1 2:7:0.5", "0 1:2:1"}), "libffm");
  EXPECT_EQ(FormatOf({"3 0.5 -1 2e3 2 7 8 1 9 1 1", "3 1 1 1 0 1 9 1 0"}), "multislot");
  EXPECT_EQ(FormatOf({"a,b,c", "1,2,3"}), "csv");
  EXPECT_EQ(FormatOf({"a;\"x;y\"", "1;2"}), "csv");
  EXPECT_EQ(FormatOf({"a\tb c\td", "1\t2\t3"}), "tsv");
  EXPECT_EQ(DetectFormat(std::vector<std::string>{"a,b,c", "1,2,3"})->reason,
            "every line has 2 commas");
}

TEST(DetectFormatTest, LinesOfNoFormatAreAnErrorWithWhatToDo) {
  EXPECT_THAT(FormatOf({"a,b", "1,2,3"}), HasSubstr("the form of no format"));
  EXPECT_THAT(FormatOf({"some words here"}), HasSubstr("the form of no format"));
  EXPECT_THAT(FormatOf({"", "  "}), HasSubstr("no rows"));
  // One line that differs is enough.
  EXPECT_THAT(FormatOf({"1 3:1", "1 3:x"}), HasSubstr("the form of no format"));
}

TEST(DetectFormatTest, CsvHasDelimiterBlanksAndHeader) {
  const std::vector<std::string> adult = {"age, work, wage", "39, State-gov, <=50K",
                                          "50, Private, >50K"};
  const StatusOr<DetectedCsv> found = DetectCsv(adult);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->form.delimiter, ',');
  EXPECT_TRUE(found->form.header);
  EXPECT_TRUE(found->form.trim);
  EXPECT_THAT(found->names, ElementsAre("age", "work", "wage"));
  const StatusOr<DetectedCsv> plain = DetectCsv(std::vector<std::string>{"1\tx", "2\ty"});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->form.delimiter, '\t');
  EXPECT_FALSE(plain->form.quotes);
  EXPECT_FALSE(plain->form.header);
  EXPECT_FALSE(plain->form.trim);
  EXPECT_THAT(plain->names, ElementsAre("C1", "C2"));
  EXPECT_FALSE(DetectCsv(std::vector<std::string>{"a,b", "x,y", "a,z"})->form.header);
  EXPECT_THAT(std::string(Message(DetectCsv(std::vector<std::string>{"a,b,a", "1,2,3"}).status())),
              HasSubstr("two columns 'a'"));
  EXPECT_FALSE(DetectCsv(std::vector<std::string>{"word"}).ok());
}

TEST(DetectFormatTest, TheFirstLineThatDiffersIsNamed) {
  EXPECT_THAT(FormatOf({"a,b,y", "", "1,2,0", "1,0", "1,2,0", "1,2"}),
              HasSubstr("; 3 of them have 3 columns, separated by commas, and line 4 has 2;"));
  EXPECT_THAT(FormatOf({"a;y", "\"x;1", "y;0"}),
              HasSubstr("separated by semicolons, and line 2 has malformed quotes;"));
  EXPECT_EQ(DetectFormat(std::vector<std::string>{"a,b", "1,2"})->reason, "every line has 1 comma");
}

TEST(DetectFormatTest, TheFirstAndTheLastColumnNeedNoName) {
  for (const std::vector<std::string>& lines : std::vector<std::vector<std::string>>{
           {",a,y", "0,x,1", "1,z,0"}, {"a,y,", "x,1,", "z,0,"}, {",a,y,", "0,x,1,", "1,z,0,"}}) {
    const StatusOr<DetectedCsv> found = DetectCsv(lines);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->form.header) << lines[0];
    EXPECT_THAT(found->names, ElementsAre("a", "y"));
  }
  EXPECT_FALSE(DetectCsv(std::vector<std::string>{"a,,b", "x,1,2"})->form.header);
  EXPECT_FALSE(DetectCsv(std::vector<std::string>{",", "1,2"})->form.header);
}

TEST(DetectFormatTest, AHeaderThatIsRepeatedIsOne) {
  const StatusOr<DetectedCsv> found =
      DetectCsv(std::vector<std::string>{"a,y", "x,1", "a,y", "z,0"});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->form.header);
}

TEST(DetectFormatTest, NamesOfColumnsAreUtf8) {
  EXPECT_THAT(
      std::string(Message(DetectCsv(std::vector<std::string>{"caf\xe9,y", "x,1"}).status())),
      HasSubstr("the name of a column, 'caf?', is not UTF-8: convert the file"));
}

TEST(DetectFormatTest, FirstLinesOfAFile) {
  TempDir dir;
  const std::string file = dir.Write("x", "a\nb\r\nc");
  EXPECT_THAT(*FirstLines(file, 2, {}), ElementsAre("a", "b"));
  EXPECT_THAT(*FirstLines(file, 9, {}), ElementsAre("a", "b", "c"));
  EXPECT_FALSE(FirstLines(dir.path() + "/none", 2, {}).ok());
}

}  // namespace
}  // namespace flotilla
