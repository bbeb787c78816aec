#include "flotilla/metric/auc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

struct Rows {
  std::vector<float> scores;
  std::vector<float> labels;

  int64_t size() const { return static_cast<int64_t>(scores.size()); }
};

void Add(AucMeter& auc, const Rows& rows) {
  const FetchedValue inputs[] = {{rows.scores, 1}, {rows.labels, 1}};
  auc.Add({rows.size(), inputs});
}

double AucOf(const Rows& rows, int num_thresholds = 4096) {
  AucMeter auc(num_thresholds, 20);
  Add(auc, rows);
  return auc.Value();
}

// Scores that are multiples of 1 / denominator; positives tend to score higher.
Rows RandomRows(int64_t count, uint64_t seed, uint64_t denominator) {
  const RngKey key = RngKey(seed).With("auc");
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    const bool positive = key.Below(2 * i, 3) == 0;
    uint64_t level = key.Below(2 * i + 1, denominator + 1);
    if (positive) level = std::min(level + denominator / 8, denominator);
    rows.scores.push_back(static_cast<float>(level) / static_cast<float>(denominator));
    rows.labels.push_back(positive ? 1 : 0);
  }
  return rows;
}

double PairCount(const Rows& rows) {
  double wins = 0, pairs = 0;
  for (int64_t i = 0; i < rows.size(); ++i) {
    for (int64_t j = 0; j < rows.size(); ++j) {
      if (rows.labels[i] != 1 || rows.labels[j] != 0) continue;
      pairs += 1;
      wins += rows.scores[i] > rows.scores[j] ? 1 : rows.scores[i] == rows.scores[j] ? 0.5 : 0;
    }
  }
  return wins / pairs;
}

TEST(AucTest, EqualsCountingPairsWithTies) {
  for (uint64_t denominator : {4096, 64, 4, 1}) {
    const Rows rows = RandomRows(500, denominator, denominator);
    EXPECT_NEAR(AucOf(rows), PairCount(rows), 1e-12) << "denominator " << denominator;
    EXPECT_NEAR(AucOf(rows, 0), PairCount(rows), 1e-12) << "denominator " << denominator;
  }
}

TEST(AucTest, PerfectWrongAndBlindScores) {
  EXPECT_EQ(AucOf({{0.1f, 0.2f, 0.8f, 1.0f}, {0, 0, 1, 1}}), 1);
  EXPECT_EQ(AucOf({{0.1f, 0.2f, 0.8f, 1.0f}, {1, 1, 0, 0}}), 0);
  EXPECT_EQ(AucOf({{0.3f, 0.3f, 0.3f, 0.3f}, {0, 1, 0, 1}}), 0.5);
}

TEST(AucTest, UndefinedWithoutBothClasses) {
  EXPECT_TRUE(std::isnan(AucOf({})));
  EXPECT_TRUE(std::isnan(AucOf({{0.1f, 0.9f}, {1, 1}})));
  EXPECT_TRUE(std::isnan(AucOf({{0.1f, 0.9f}, {0, 0}})));
}

TEST(AucTest, NanScoreOrLabelMakesTheFigureNan) {
  EXPECT_TRUE(std::isnan(AucOf({{0.1f, 0.9f, NAN}, {0, 1, 1}})));
  EXPECT_TRUE(std::isnan(AucOf({{0.1f, 0.9f, 0.5f}, {0, 1, NAN}})));
}

TEST(AucTest, ScoresBeyondTheEndsCountAtTheEnds) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const int thresholds : {0, 4096}) {
    EXPECT_EQ(AucOf({{-3, 0.5f, 7, inf}, {0, 0, 1, 1}}, thresholds), 1);
    EXPECT_EQ(AucOf({{1, 7}, {0, 1}}, thresholds), 0.5);
    EXPECT_EQ(AucOf({{-inf, 0}, {0, 1}}, thresholds), 0.5);
  }
}

TEST(AucTest, BucketIsTheScoreTimesThresholdsCutToAWholeNumber) {
  EXPECT_EQ(AucOf({{0.30f, 0.49f}, {0, 1}}, 4), 0.5);  // both in bucket 1
  EXPECT_EQ(AucOf({{0.49f, 0.50f}, {0, 1}}, 4), 1);
  EXPECT_EQ(AucOf({{0.99f, 1.00f}, {0, 1}}, 4), 1);  // 1 has its own bucket
}

TEST(AucTest, OfTwoColumnsTheLastIsTheScore) {
  const std::vector<float> predict = {0.9f, 0.1f, 0.8f, 0.2f, 0.3f, 0.7f};
  const std::vector<float> labels = {0, 0, 1};
  const FetchedValue inputs[] = {{predict, 2}, {labels, 1}};
  AucMeter auc(4096, 20);
  auc.Add({3, inputs});
  EXPECT_EQ(auc.Value(), 1);
}

TEST(AucTest, MergedStatesEqualOneState) {
  for (const int thresholds : {0, 4096}) {
    AucMeter whole(thresholds, 20), first(thresholds, 20), second(thresholds, 20);
    for (uint64_t batch = 0; batch < 6; ++batch) {
      const Rows rows = RandomRows(30'000, batch, 1 << 24);
      Add(whole, rows);
      Add(batch % 2 == 0 ? first : second, rows);
    }
    AucMeter merged(thresholds, 20);
    ASSERT_TRUE(merged.Merge(first.State()).ok());
    ASSERT_TRUE(merged.Merge(second.State()).ok());
    EXPECT_EQ(merged.Value(), whole.Value());
    EXPECT_EQ(merged.WindowValue(), whole.WindowValue());
    EXPECT_EQ(merged.State(), whole.State());
    EXPECT_NE(first.Value(), whole.Value());
  }
}

TEST(AucTest, AStateOfAnotherMetricIsAnError) {
  AucMeter auc(0, 2);
  Add(auc, {{0.1f, 0.9f}, {0, 1}});
  std::vector<double> state = auc.State();
  EXPECT_FALSE(auc.Merge({}).ok());
  EXPECT_FALSE(auc.Merge(std::span(state).first(state.size() - 1)).ok());
  state.push_back(0);
  EXPECT_FALSE(auc.Merge(state).ok());
}

// At typical click rates, most scores are in few of 4096 equal buckets.
TEST(AucTest, OnlyGivenThresholdsMakeEvenBuckets) {
  const Rows rows = {{0.0001f, 0.0002f, 0.0001f, 0.0002f}, {0, 1, 0, 1}};
  EXPECT_EQ(AucOf(rows, 4096), 0.5);
  EXPECT_EQ(AucOf(rows, 0), 1);
}

TEST(AucTest, MergeCarriesBrokenRows) {
  AucMeter broken(16, 2), healthy(16, 2);
  Add(broken, {{NAN}, {1}});
  Add(healthy, {{0.1f, 0.9f}, {0, 1}});
  EXPECT_EQ(healthy.Value(), 1);
  ASSERT_TRUE(healthy.Merge(broken.State()).ok());
  EXPECT_TRUE(std::isnan(healthy.Value()));
}

TEST(AucTest, WindowCoversTheLastBatchesOnly) {
  constexpr int kSlide = 3;
  AucMeter auc(4096, kSlide);
  for (uint64_t batch = 0; batch < 8; ++batch) {
    Add(auc, RandomRows(50 + 10 * batch, batch, 4096));
    AucMeter expected(4096, kSlide);
    for (uint64_t last = batch < kSlide ? 0 : batch - kSlide + 1; last <= batch; ++last) {
      Add(expected, RandomRows(50 + 10 * last, last, 4096));
    }
    EXPECT_EQ(auc.WindowValue(), expected.Value()) << "batch " << batch;
  }
  EXPECT_NE(auc.WindowValue(), auc.Value());
}

TEST(AucTest, BrokenRowLeavesTheWindowWithItsBatch) {
  AucMeter auc(16, 1);
  Add(auc, {{NAN}, {1}});
  EXPECT_TRUE(std::isnan(auc.WindowValue()));
  Add(auc, {{0.1f, 0.9f}, {0, 1}});
  EXPECT_EQ(auc.WindowValue(), 1);
  EXPECT_TRUE(std::isnan(auc.Value()));
}

TEST(AucTest, WithoutAWindowTheWindowValueIsTheValue) {
  AucMeter auc(4096, 0);
  Add(auc, RandomRows(100, 1, 4096));
  Add(auc, RandomRows(100, 2, 4096));
  EXPECT_EQ(auc.WindowValue(), auc.Value());
}

TEST(AucTest, ResetForgetsEverything) {
  AucMeter auc(4096, 2), fresh(4096, 2);
  Add(auc, RandomRows(100, 1, 4096));
  Add(auc, {{NAN}, {1}});
  auc.Reset();
  EXPECT_EQ(auc.State(), fresh.State());
  Add(auc, RandomRows(100, 2, 4096));
  Add(fresh, RandomRows(100, 2, 4096));
  Add(auc, RandomRows(100, 3, 4096));
  Add(auc, RandomRows(100, 4, 4096));
  Add(fresh, RandomRows(100, 3, 4096));
  Add(fresh, RandomRows(100, 4, 4096));
  EXPECT_EQ(auc.State(), fresh.State());
}

// The rows of tests/testdata/metric_reference.py, which describes the recipe.
Rows ReferenceRows(uint64_t seed, int64_t count, int levels, int shift) {
  uint64_t x = seed;
  const auto next = [&x] {
    x = (x * 1103515245 + 12345) % 2147483648;
    return x >> 7;  // 24 bits
  };
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    const bool positive = next() % 4 == 0;
    uint64_t score = next();
    if (positive) score = std::min<uint64_t>(score + shift, (1 << 24) - 1);
    const uint64_t step = (1 << 24) / levels;
    rows.scores.push_back(static_cast<float>(score / step * step) / (1 << 24));
    rows.labels.push_back(positive ? 1 : 0);
  }
  return rows;
}

Rows RateRows(uint64_t seed, int64_t count, double rate, int narrow) {
  uint64_t x = seed;
  const auto next = [&x] {
    x = (x * 1103515245 + 12345) % 2147483648;
    return x >> 7;  // 24 bits
  };
  const double odds = rate / (1 - rate);
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    const bool positive = static_cast<double>(next()) < rate * (1 << 24);
    const uint64_t v = next(), w = next();
    const double part = (static_cast<double>(positive ? std::max(v, w) : v) + 0.5) / (1 << 24);
    const double score =
        narrow > 0 ? rate * (1 + part / narrow) : part / (part + (1 - part) / odds);
    rows.scores.push_back(static_cast<float>(score));
    rows.labels.push_back(positive ? 1 : 0);
  }
  return rows;
}

// The lines of the reference that begin with `kind`, or those that begin with a number. # starts a
// comment.
std::vector<std::string> ReferenceLines(const std::string& kind) {
  std::ifstream file(FLOTILLA_TESTDATA "/metric_reference.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const bool numbers = line[0] >= '0' && line[0] <= '9';
    if (kind.empty() ? !numbers : line.rfind(kind + " ", 0) != 0) continue;
    lines.push_back(line.substr(kind.empty() ? 0 : kind.size() + 1));
  }
  return lines;
}

// "seed rows rate narrow auc"
TEST(AucTest, IsScikitLearnsAtAnyBaseRate) {
  const std::vector<std::string> lines = ReferenceLines("rate");
  EXPECT_GE(lines.size(), 8u);
  for (const std::string& line : lines) {
    std::istringstream words(line);
    uint64_t seed = 0;
    int64_t count = 0;
    int narrow = 0;
    double rate = 0, expected = 0;
    ASSERT_TRUE(words >> seed >> count >> rate >> narrow >> expected) << line;
    EXPECT_NEAR(AucOf(RateRows(seed, count, rate, narrow), 0), expected, 0.0005) << line;
  }
}

// "seed rows levels shift auc"
TEST(AucTest, EqualsScikitLearn) {
  int exact = 0, close = 0;
  for (const std::string& line : ReferenceLines("")) {
    std::istringstream words(line);
    uint64_t seed = 0;
    int64_t count = 0;
    int levels = 0, shift = 0;
    double expected = 0;
    ASSERT_TRUE(words >> seed >> count >> levels >> shift >> expected) << line;
    const Rows rows = ReferenceRows(seed, count, levels, shift);
    EXPECT_NEAR(AucOf(rows, 0), expected, 1e-12) << line;  // few enough rows to be exact
    const double value = AucOf(rows);
    const bool on_buckets = levels <= 4096;
    EXPECT_NEAR(value, expected, on_buckets ? 1e-12 : 1e-3) << line;
    ++(on_buckets ? exact : close);
  }
  EXPECT_GE(exact, 3);
  EXPECT_GE(close, 3);
}

std::string HintOf(const std::vector<float>& scores, const std::vector<float>& labels) {
  AucMeter meter(0, 20);
  Add(meter, Rows{scores, labels});
  return meter.Hint();
}

TEST(AucHintTest, SaysWhichClassIsMissing) {
  EXPECT_THAT(HintOf({0.1f, 0.2f}, {0, 0}), HasSubstr("all 2 labels are negative"));
  EXPECT_THAT(HintOf({0.1f, 0.2f, 0.3f}, {1, 1, 1}), HasSubstr("all 3 labels are positive"));
  EXPECT_THAT(HintOf({}, {}), HasSubstr("no rows"));
}

TEST(AucHintTest, SaysThatPredictionsAreConstantOrNan) {
  EXPECT_THAT(HintOf({0.25f, 0.25f, 0.25f}, {0, 1, 0}),
              HasSubstr("all 3 predictions are the same"));
  EXPECT_THAT(HintOf({0.25f, NAN, 0.5f}, {0, 1, 1}), HasSubstr("1 of 3 rows"));
}

TEST(AucHintTest, SaysThatLabelsAreInvertedOrThatNothingWasLearned) {
  EXPECT_THAT(HintOf({0.9f, 0.1f}, {0, 1}), HasSubstr("inverted"));
  EXPECT_THAT(HintOf({0.1f, 0.9f, 0.1f, 0.9f}, {0, 0, 1, 1}), HasSubstr("say nothing"));
}

TEST(AucHintTest, IsEmptyForAnOrdinaryFigure) {
  EXPECT_EQ(HintOf({0.1f, 0.9f}, {0, 1}), "");                    // 1
  EXPECT_EQ(HintOf({0.1f, 0.6f, 0.5f, 0.9f}, {0, 0, 1, 1}), "");  // 0.75
}

}  // namespace
}  // namespace flotilla
