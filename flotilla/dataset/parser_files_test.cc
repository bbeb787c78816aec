// Reads every format from files through the reader that training uses: properties of the file
// (byte-order mark, header lines, line ends of other systems) must not affect the rows.
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/parser_testing.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const InputSpec kLabelInput = {"label", InputKind::kLabel, 1};
const InputSpec kIdsInput = {"F0", InputKind::kIds, 1};

// A format, the inputs it fills here, one line and the resulting row.
struct Format {
  ParserSpec spec;
  std::vector<InputSpec> inputs;
  std::string heading;  // with its line end
  std::string line;
  std::string row;
};

std::vector<Format> Formats() {
  return {
      {{"corpus"}, {kIdsInput}, "", "7 8", "F0=7,8"},
      {{"csv", {{"schema", "header=yes F0:id(number) label:label"}}},
       {kIdsInput, kLabelInput},
       "F0,label\n",
       "7,1",
       "F0=7 label=1"},
      {{"tsv", {{"schema", "F0:id(number) label:label"}}},
       {kIdsInput, kLabelInput},
       "",
       "7\t1",
       "F0=7 label=1"},
      {{"libffm"}, {kIdsInput, kLabelInput}, "", "1 0:7:1", "F0=7 label=1"},
      {{"libsvm"}, {kIdsInput, kLabelInput}, "", "1 7:1", "F0=7 label=1"},
      {{"multislot"}, {kIdsInput, kLabelInput}, "", "1 7 1 1", "F0=7 label=1"},
  };
}

StatusOr<std::vector<std::string>> ReadRows(const Format& format, std::vector<std::string> files) {
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const Parser> parser, MakeParser(format.spec, format.inputs));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<BatchedDataset> dataset,
                      MakeStream(std::move(files), parser, {.batch = {.batch_size = 2}}));
  FL_RETURN_IF_ERROR(dataset->StartEpoch(0));
  std::vector<std::string> rows;
  Batch batch;
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool more, dataset->Next(0, &batch));
    if (!more) return rows;
    for (int64_t row = 0; row < batch.rows; ++row) {
      rows.push_back(RowText(format.inputs, batch, row));
    }
  }
}

TEST(ParserFilesTest, MarksHeadingsAndLineEndsDoNotReachTheRows) {
  for (const Format& format : Formats()) {
    TempDir dir;
    const std::string mark = "\xEF\xBB\xBF", &head = format.heading, &line = format.line;
    const std::string windows_head = head.empty() ? "" : head.substr(0, head.size() - 1) + "\r\n";
    const StatusOr<std::vector<std::string>> rows = ReadRows(
        format, {dir.Write("plain", head + line + "\n"), dir.Write("no_newline", head + line),
                 dir.Write("marked", mark + head + line + "\n" + line),
                 dir.Write("windows", windows_head + line + "\r\n" + line + "\r\n"),
                 dir.Write("windows_marked", mark + windows_head + line), dir.Write("empty", ""),
                 dir.Write("only_head", head)});
    ASSERT_TRUE(rows.ok()) << format.spec.format << ": " << rows.status();
    EXPECT_EQ(*rows, std::vector<std::string>(7, format.row)) << format.spec.format;
  }
}

TEST(ParserFilesTest, EmptyFilesAloneAreAnError) {
  for (const Format& format : Formats()) {
    TempDir dir;
    for (const std::string& content : {std::string(), format.heading}) {
      EXPECT_THAT(std::string(Message(ReadRows(format, {dir.Write("a", content)}).status())),
                  HasSubstr("no rows"))
          << format.spec.format;
    }
  }
}

TEST(ParserFilesTest, BadRowHasFileLineAndColumnAlsoBehindAHeading) {
  for (const Format& format : Formats()) {
    TempDir dir;
    const std::string path =
        dir.Write("a", format.heading + format.line + "\n" + format.line + "x\n");
    EXPECT_THAT(std::string(Message(ReadRows(format, {path}).status())),
                HasSubstr(fmt::format("{}:{}:", path, format.heading.empty() ? 2 : 3)))
        << format.spec.format;
  }
}

TEST(ParserFilesTest, OtherHeadingStopsTheRunWithItsPlace) {
  TempDir dir;
  const Format csv = Formats()[1];
  const std::string good = dir.Write("a", "F0,label\n7,1\n");
  const std::string path = dir.Write("b", "label,F1\n1,7\n");
  EXPECT_EQ(
      std::string(Message(ReadRows(csv, {good, path}).status())),
      path +
          ":1:1: the file has no column 'F0', which the schema lists; its columns are label, F1");
}

TEST(ParserFilesTest, BlankLinesAreNoRowsWhereTheFormatSaysSo) {
  TempDir dir;
  for (const Format& format : Formats()) {
    if (format.spec.format == "multislot") continue;
    const std::string path = dir.Write("a", format.heading + "\n" + format.line + "\n\n\n\n");
    const StatusOr<std::vector<std::string>> rows = ReadRows(format, {path});
    ASSERT_TRUE(rows.ok()) << format.spec.format << ": " << rows.status();
    EXPECT_THAT(*rows, ElementsAre(format.row)) << format.spec.format;
  }
}

}  // namespace
}  // namespace flotilla
