#include "flotilla/dataset/prepare/criteo_prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Fields = std::vector<std::string>;

constexpr size_t kRows = 5010;

// Generated once: generating them takes longer than preparing them.
std::string Rows(size_t begin, size_t end) {
  static const std::vector<std::string>* const rows = [] {
    const auto synth = SynthCriteo::Make({.seed = 3});
    auto* made = new std::vector<std::string>(kRows);
    for (size_t i = 0; i < kRows; ++i) {
      synth->Row(i, &(*made)[i]);
      (*made)[i] += '\n';
    }
    return made;
  }();
  std::string text;
  for (size_t i = begin; i < end; ++i) text += (*rows)[i];
  return text;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == separator) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

// The files of a directory, joined in the order of their names.
std::string JoinedFiles(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += *ReadWholeFile(name, 1 << 30);
  return text;
}

std::vector<Fields> RowsIn(const std::string& directory) {
  std::vector<Fields> rows;
  for (const std::string& line : Split(JoinedFiles(directory), '\n')) {
    if (!line.empty()) rows.push_back(Split(line, '\t'));
  }
  return rows;
}

class CriteoPrepareTest : public ::testing::Test {
 protected:
  StatusOr<CriteoPrepared> Prepare(const CriteoPrepareOptions& options, const char* name = "out") {
    return PrepareCriteo(files_, dir_.path() + "/" + name, options);
  }
  std::string ErrorOf(const CriteoPrepareOptions& options) {
    const auto result = Prepare(options, "failed");
    EXPECT_FALSE(result.ok());
    return std::string(Message(result.status()));
  }
  std::string Out(const std::string& name) const { return dir_.path() + "/out/" + name; }

  const TempDir dir_;
  std::vector<std::string> files_ = {dir_.Write("a", Rows(0, 3000)),
                                     dir_.Write("b", Rows(3000, 5000))};
};

TEST_F(CriteoPrepareTest, EveryRowIsOnOneSideInItsOrder) {
  const auto result = Prepare({.part_rows = 1000, .threads = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  const std::vector<std::string> train = Split(JoinedFiles(Out("train")), '\n');
  const std::vector<std::string> test = Split(JoinedFiles(Out("test")), '\n');
  size_t next_train = 0, next_test = 0;
  for (const std::string& line : Split(Rows(0, 5000), '\n')) {
    if (line.empty()) break;
    if (line == train[next_train]) {
      ++next_train;
    } else {
      ASSERT_EQ(line, test[next_test++]);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(next_train), result->statistics.train_rows);
  EXPECT_EQ(static_cast<int64_t>(next_test), result->statistics.test_rows);
  EXPECT_EQ(next_train + next_test, 5000u);
  EXPECT_NEAR(static_cast<double>(next_test), 500, 90);  // more than four standard deviations
}

TEST_F(CriteoPrepareTest, FilesDoNotDependOnTheThreads) {
  for (const int threads : {1, 2, 4}) {
    const std::string name = fmt::format("t{}", threads);
    const auto result =
        Prepare({.part_rows = 388, .min_count = 5, .memory_bytes = 100'000, .threads = threads},
                name.c_str());
    ASSERT_TRUE(result.ok()) << result.status();
    for (const char* file : {"/train", "/test"}) {
      EXPECT_EQ(JoinedFiles(dir_.path() + "/" + name + file),
                JoinedFiles(dir_.path() + "/t1" + file));
    }
    EXPECT_EQ(*ReadWholeFile(dir_.path() + "/" + name + "/statistics.json", 1 << 20),
              *ReadWholeFile(dir_.path() + "/t1/statistics.json", 1 << 20));
  }
  EXPECT_TRUE(fs::exists(dir_.path() + "/t1/train/part-000011"));
}

TEST_F(CriteoPrepareTest, SplitFollowsTheSeedAndNotTheFiles) {
  ASSERT_TRUE(Prepare({}, "two").ok());
  ASSERT_TRUE(Prepare({.seed = 1}, "other").ok());
  files_ = {dir_.Write("joined", Rows(0, 5000))};
  ASSERT_TRUE(Prepare({}, "one").ok());
  EXPECT_EQ(JoinedFiles(dir_.path() + "/one/test"), JoinedFiles(dir_.path() + "/two/test"));
  EXPECT_NE(JoinedFiles(dir_.path() + "/one/test"), JoinedFiles(dir_.path() + "/other/test"));
}

TEST_F(CriteoPrepareTest, StatisticsAreThoseOfTheTrainingRowsAndTheReaderTakesThem) {
  ASSERT_TRUE(Prepare({.threads = 2}).ok());
  const auto statistics = ReadCriteoStatistics(Out("statistics.json"));
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  const std::vector<Fields> rows = RowsIn(Out("train"));
  for (int i = 0; i < kCriteoNumbers; ++i) {
    std::vector<int64_t> numbers;
    for (const Fields& row : rows) {
      if (!row[1 + i].empty()) numbers.push_back(std::stoll(row[1 + i]));
    }
    std::sort(numbers.begin(), numbers.end());
    const CriteoStatistics::Column& column = statistics->columns[i];
    EXPECT_TRUE(column.exact);
    EXPECT_EQ(column.count, static_cast<int64_t>(numbers.size()));
    EXPECT_EQ(column.missing, static_cast<int64_t>(rows.size() - numbers.size()));
    EXPECT_EQ(column.min, numbers.front());
    EXPECT_EQ(column.p95, numbers[(numbers.size() * 95 + 99) / 100 - 1]);
  }
  EXPECT_TRUE(CriteoParser::Make(CriteoInputs(), {.numeric = CriteoOptions::Numeric::kStatistics,
                                                  .statistics = *statistics})
                  .ok());
}

TEST_F(CriteoPrepareTest, RareCategoriesOfTheTrainingRowsShareOneValuePerColumn) {
  const auto result = Prepare({.min_count = 4, .threads = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(Prepare({}, "raw").ok());
  EXPECT_TRUE(result->exact_counts);
  std::map<std::pair<int, std::string>, int> counts;
  for (const Fields& row : RowsIn(dir_.path() + "/raw/train")) {
    for (int c = kFirstCriteoCategory; c < kCriteoFields; ++c) {
      if (!row[c].empty()) ++counts[{c, row[c]}];
    }
  }
  EXPECT_EQ(result->distinct_values, static_cast<int64_t>(counts.size()));
  int64_t rare = 0;
  for (const char* side : {"train", "test"}) {
    std::vector<Fields> expected = RowsIn(dir_.path() + "/raw/" + side);
    for (Fields& row : expected) {
      for (int c = kFirstCriteoCategory; c < kCriteoFields; ++c) {
        if (row[c].empty() || counts[{c, row[c]}] >= 4) continue;
        row[c] = "rare";
        ++rare;
      }
    }
    EXPECT_EQ(RowsIn(Out(side)), expected);
  }
  EXPECT_EQ(result->rare_fields, rare);
  EXPECT_GT(rare, 0);
}

TEST_F(CriteoPrepareTest, BoundedMemoryKeepsSomeRareCategoriesAndSaysSo) {
  const auto exact = Prepare({.min_count = 4}, "exact");
  const auto bounded = Prepare({.min_count = 4, .memory_bytes = 200'000}, "bounded");
  ASSERT_TRUE(exact.ok() && bounded.ok());
  EXPECT_FALSE(bounded->exact_counts);
  EXPECT_GT(bounded->likely_excess, 0);
  EXPECT_LT(bounded->rare_fields, exact->rare_fields);
  EXPECT_GT(bounded->rare_fields, 0);
}

TEST_F(CriteoPrepareTest, NumbersAboveTwoAreBucketedByTheirSquaredLogarithm) {
  EXPECT_EQ(LogSquaredBucket(-5), -5);
  EXPECT_EQ(LogSquaredBucket(0), 0);
  EXPECT_EQ(LogSquaredBucket(2), 2);
  EXPECT_EQ(LogSquaredBucket(3), 1);
  EXPECT_EQ(LogSquaredBucket(1000), 47);
  ASSERT_TRUE(Prepare({.buckets = CriteoPrepareOptions::Buckets::kLog2}).ok());
  ASSERT_TRUE(Prepare({}, "raw").ok());
  std::vector<Fields> expected = RowsIn(dir_.path() + "/raw/train");
  for (Fields& row : expected) {
    for (int i = 1; i <= kCriteoNumbers; ++i) {
      if (!row[i].empty()) row[i] = std::to_string(LogSquaredBucket(std::stoll(row[i])));
    }
  }
  EXPECT_EQ(RowsIn(Out("train")), expected);
}

TEST_F(CriteoPrepareTest, BadRowsEndTheRunOrAreCounted) {
  files_.push_back(dir_.Write("c", "1\tx\n" + Rows(5000, 5010) + "2\n"));
  const std::string first = files_[2] + ":1:3: number I1: expected a whole number";
  for (const int64_t min_count : {0, 3}) {
    EXPECT_THAT(ErrorOf({.min_count = min_count, .threads = 2}), HasSubstr(first));
    EXPECT_THAT(ErrorOf({.min_count = min_count, .max_bad_rows = 1}),
                HasSubstr("more than 1 bad rows: " + files_[2] + ":12:1: label"));
  }
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/failed"));  // nothing is left of a failed run
  const auto result = Prepare({.max_bad_rows = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->skipped, 2);
  EXPECT_EQ(result->samples.size(), 2u);
  EXPECT_EQ(result->statistics.train_rows + result->statistics.test_rows, 5010);
}

TEST_F(CriteoPrepareTest, BlankLinesAreNoRows) {
  files_ = {dir_.Write("blank", Rows(0, 20) + "\n" + Rows(20, 30) + "\n\n")};
  for (const int64_t min_count : {0, 3}) {
    const auto result = Prepare({.min_count = min_count}, min_count == 0 ? "all" : "frequent");
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->skipped, 0);
    EXPECT_EQ(result->statistics.train_rows + result->statistics.test_rows, 30);
  }
}

TEST_F(CriteoPrepareTest, WithoutTestShareThereIsNoTestDirectory) {
  ASSERT_TRUE(Prepare({.test_share = 0}).ok());
  EXPECT_FALSE(fs::exists(Out("test")));
  EXPECT_EQ(RowsIn(Out("train")).size(), 5000u);
}

TEST_F(CriteoPrepareTest, WrongUseIsAnErrorThatSaysWhy) {
  EXPECT_THAT(ErrorOf({.test_share = 1}), HasSubstr("test_share 1 is not in [0, 1)"));
  dir_.Write("used", "x");
  EXPECT_THAT(Message(PrepareCriteo(files_, dir_.path(), {}).status()),
              HasSubstr("already has files"));
  files_ = {dir_.Write("empty", "")};
  EXPECT_THAT(ErrorOf({}), HasSubstr("no training rows in 1 file(s), first " + files_[0]));
  files_ = {"-"};
  EXPECT_THAT(ErrorOf({.min_count = 2}), HasSubstr("standard input can be read only once"));
  files_ = {dir_.path() + "/none"};
  EXPECT_THAT(ErrorOf({}), HasSubstr("/none"));
}

TEST_F(CriteoPrepareTest, ProgressTellsStagesAndTheShareDone) {
  std::vector<std::string> stages;
  double last = 0;
  CriteoPrepareOptions options{.min_count = 2};
  options.on_progress = [&](std::string_view stage, const PassProgress& progress) {
    if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
    last = progress.fraction;
  };
  ASSERT_TRUE(Prepare(options).ok());
  EXPECT_THAT(stages, ElementsAre("count", "write"));
  EXPECT_EQ(last, 1);
}

}  // namespace
}  // namespace flotilla
