#include "flotilla/dataset/prepare/line_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string NumberedLines(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += fmt::format("{}\n", i);
  return text;
}

// A pass that joins the lines in the order of the commits; fails in the slice with line `fail_at`.
Status Join(const std::vector<std::string>& files, const LinePassOptions& options, int64_t fail_at,
            std::string* joined) {
  std::vector<std::string> found(options.threads);
  return PassOverLines(
      files, options, [&](int worker, const LineSlice& slice) { found[worker] = slice.lines.text; },
      [&](int worker, const LineSlice& slice) {
        if (fail_at >= slice.first && fail_at < slice.first + options.slice_lines) {
          return InvalidArgument("slice of line {}", slice.first);
        }
        *joined += found[worker];
        return absl::OkStatus();
      });
}

TEST(LinePassTest, SlicesAreCommittedInTheOrderOfTheFiles) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", NumberedLines(0, 500)), dir.Write("b", ""),
                                          dir.Write("c", NumberedLines(500, 1203))};
  for (const int threads : {1, 2, 5}) {
    std::string joined;
    const Status status = Join(files, {.threads = threads, .slice_lines = 7}, -1, &joined);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(joined, NumberedLines(0, 1203));
  }
}

TEST(LinePassTest, FirstErrorInTheOrderOfTheSlicesEndsThePass) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", NumberedLines(0, 1000)),
                                          dir.path() + "/none"};
  for (const int threads : {1, 2, 5}) {
    std::string joined;
    const LinePassOptions options{.threads = threads, .slice_lines = 10};
    EXPECT_EQ(Message(Join(files, options, 555, &joined)), "slice of line 550");
    EXPECT_EQ(joined, NumberedLines(0, 550));
    joined.clear();
    EXPECT_THAT(Message(Join(files, options, -1, &joined)), HasSubstr("/none"));
    EXPECT_EQ(joined, NumberedLines(0, 1000));
  }
}

TEST(LinePassTest, ProgressReachesTheEndOfTheFiles) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", NumberedLines(0, 100)),
                                          dir.Write("b", NumberedLines(0, 100))};
  std::vector<double> fractions;
  LinePassOptions options{.threads = 2, .slice_lines = 50};
  int64_t lines = 0;
  options.on_progress = [&](const PassProgress& progress) {
    fractions.push_back(progress.fraction);
    lines = progress.lines;
  };
  std::string joined;
  ASSERT_TRUE(Join(files, options, -1, &joined).ok());
  EXPECT_EQ(lines, 200);
  ASSERT_EQ(fractions.size(), 4u);
  EXPECT_NEAR(fractions[0], 0.25, 0.03);
  EXPECT_NEAR(fractions[3], 1, 1e-9);
}

TEST(LinePassTest, BadLinesAreDescribedWithTheirPlace) {
  const TempDir dir;
  const std::vector<std::string> files = {
      dir.Write("a", "good\nbad\n" + std::string(100, 'x') + "\ngood\n")};
  LinePassOptions options;
  options.reader.max_line_bytes = 50;
  std::vector<std::string> bad;
  std::vector<int64_t> ordinals;
  const Status status = PassOverLines(
      files, options,
      [&](int, const LineSlice& slice) {
        ForEachLine(
            files, options.reader, slice,
            [&](int64_t ordinal, std::string_view line) -> Status {
              ordinals.push_back(ordinal);
              return line == "good" ? absl::OkStatus() : BadRow(1, "expected good");
            },
            &bad);
      },
      [](int, const LineSlice&) { return absl::OkStatus(); });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(ordinals, ElementsAre(0, 1, 3));
  EXPECT_THAT(
      bad,
      ElementsAre(files[0] + ":2:1: expected good",
                  files[0] + ":3:51: expected the end of the line, it is longer than 50 bytes"));
}

}  // namespace
}  // namespace flotilla
