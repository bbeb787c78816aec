#include "flotilla/metric/score_counts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

std::vector<uint32_t> RandomScoreRows(int64_t count, uint64_t seed, uint32_t keys) {
  const RngKey key = RngKey(seed).With("score_counts");
  std::vector<uint32_t> rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.push_back(ScoreCounts::Row(static_cast<uint32_t>(key.Below(2 * i, keys)),
                                    key.Below(2 * i + 1, 3) == 0));
  }
  return rows;
}

std::vector<double> StateOf(const ScoreCounts& counts) {
  std::vector<double> state;
  counts.AppendState(&state);
  return state;
}

Status MergeInto(ScoreCounts* counts, std::vector<double> state) {
  std::span<const double> rest = state;
  FL_RETURN_IF_ERROR(counts->MergeState(&rest));
  return rest.empty() ? absl::OkStatus() : InvalidArgument("{} numbers are left", rest.size());
}

TEST(ScoreKeyTest, KeepsTheOrderOfAllScores) {
  std::vector<float> scores = {0.0f, std::numeric_limits<float>::denorm_min(), 1e-38f};
  for (int e = -30; e < 0; ++e) {
    for (const float mantissa : {1.0f, 1.0000001f, 1.5f, 1.9999999f}) {
      scores.push_back(std::ldexp(mantissa, e));
      scores.push_back(1 - std::ldexp(mantissa, e));
    }
  }
  scores.push_back(1.0f);
  std::sort(scores.begin(), scores.end());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  for (size_t i = 1; i < scores.size(); ++i) {
    EXPECT_LT(ScoreKey(scores[i - 1]), ScoreKey(scores[i])) << scores[i - 1] << " " << scores[i];
  }
}

TEST(ScoreKeyTest, ScoresBeyondTheEndsCountAtTheEnds) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float low : {-0.0f, -1.0f, -inf}) EXPECT_EQ(ScoreKey(low), ScoreKey(0));
  for (const float high : {1.5f, 1e30f, inf}) EXPECT_EQ(ScoreKey(high), ScoreKey(1));
  EXPECT_LT(ScoreKey(1), uint32_t{1} << 31);
}

TEST(ScoreCountsTest, CountsLikeAMap) {
  for (const int64_t rows : {0, 1, 200, 70'000, 200'000}) {
    ScoreCounts counts(1 << 13);
    std::map<uint32_t, uint64_t> expected;
    for (const uint32_t row : RandomScoreRows(rows, rows, 1 << 12)) {
      counts.Add(row);
      ++expected[row];
    }
    std::vector<ScoreCounts::Count> sorted;
    for (const auto& [row, n] : expected) sorted.push_back({row, static_cast<double>(n)});
    EXPECT_EQ(counts.Sorted(), sorted) << rows << " rows";
    EXPECT_EQ(counts.dropped_bits(), 0);
  }
}

TEST(ScoreCountsTest, DropsTheFewestBitsThatKeepItWithinItsBound) {
  const auto negative = [](uint32_t key) { return ScoreCounts::Row(key, false); };
  const auto positive = [](uint32_t key) { return ScoreCounts::Row(key, true); };
  ScoreCounts counts(4);
  for (const uint32_t key : {8u, 9u, 12u, 16u, 9u}) counts.Add(negative(key));
  EXPECT_EQ(counts.dropped_bits(), 0);
  counts.Add(negative(40));  // 8 and 9 are merged
  EXPECT_EQ(counts.dropped_bits(), 1);
  counts.Add(positive(41));  // 8, 9 and 12 form two keys; 40 and 41 belong to two classes
  EXPECT_EQ(counts.dropped_bits(), 3);
  EXPECT_EQ(counts.Sorted(),
            (std::vector<ScoreCounts::Count>{
                {negative(1), 4}, {negative(2), 1}, {negative(5), 1}, {positive(5), 1}}));
}

// Rows of weight 1 and others, so many that they are counted in several portions: the counts of a
// map whose keys lose bits, one by one, while it is too large.
TEST(ScoreCountsTest, CountsWeightedRowsLikeAMapThatDropsBits) {
  constexpr size_t kMost = 300;
  for (const uint32_t keys : {100u, 5000u, 1u << 30}) {
    ScoreCounts counts(kMost);
    std::map<uint32_t, double> expected;
    int dropped = 0;
    const std::vector<uint32_t> rows = RandomScoreRows(180'000, keys, keys);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double weight = i % 3 == 0 ? static_cast<double>(i % 5) / 4 : 1;
      counts.Add(rows[i], weight);
      expected[rows[i] >> 1 >> dropped << 1 | (rows[i] & 1)] += weight;
      while (expected.size() > kMost) {
        std::map<uint32_t, double> smaller;
        for (const auto& [row, sum] : expected) smaller[row >> 2 << 1 | (row & 1)] += sum;
        expected = std::move(smaller);
        ++dropped;
      }
      if (i == 70'001) counts.Sorted();  // reading changes nothing
    }
    std::vector<ScoreCounts::Count> sorted;
    for (const auto& [row, sum] : expected) sorted.push_back({row, sum});
    EXPECT_EQ(counts.dropped_bits(), dropped) << keys;
    EXPECT_EQ(counts.Sorted(), sorted) << keys;  // exact: weights are quarters
  }
}

// The state depends only on the set of rows: not on their order, on parts that dropped different
// bits before they were merged, or on reads in between.
TEST(ScoreCountsTest, DependsOnTheRowsOnly) {
  std::vector<uint32_t> rows = RandomScoreRows(100'000, 1, 1u << 30);
  for (const uint32_t row : RandomScoreRows(100'000, 2, 1000)) rows.push_back(row);
  ScoreCounts whole(1000);
  for (const uint32_t row : rows) whole.Add(row);
  const std::vector<double> expected = StateOf(whole);
  EXPECT_GT(expected[1], 0);  // some bits were dropped

  ScoreCounts backwards(1000);
  for (size_t i = rows.size(); i-- > 0;) {
    backwards.Add(rows[i]);
    if (i % 9973 == 0) backwards.Sorted();
  }
  EXPECT_EQ(StateOf(backwards), expected);

  for (const bool ascending : {true, false}) {
    std::vector<ScoreCounts> parts(3, ScoreCounts(1000));
    for (size_t i = 0; i < rows.size(); ++i) {
      parts[i < 500 ? 0 : i < 120'000 ? 1 : 2].Add(rows[i]);
    }
    ScoreCounts merged(1000);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Status status = MergeInto(&merged, StateOf(parts[ascending ? i : 2 - i]));
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(StateOf(merged), expected);
  }
}

TEST(ScoreCountsTest, AStateThatMakesNoSenseIsAnError) {
  ScoreCounts counts(16);
  counts.Add(ScoreCounts::Row(5, true));
  const std::vector<double> good = StateOf(counts);
  ASSERT_EQ(good, (std::vector<double>{3, 0, 11, 1}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> bad = {
      {},
      {4, 0, 11, 1},            // declares more numbers than there are
      {2, 0, 11},               // lacks the count
      {nan, 0, 11, 1},          //
      {3, 32, 11, 1},           // more bits than a key has
      {3, 0, 4294967295.0, 1},  // not a row
      {3, 30, 4, 1},            // not a row with the remaining bits
      {3, 0, 11, -1},           //
      {3, 0, 11, 1.0 / 0.0},    //
      {3, 0, 11, nan},          //
      {5, 0, 11, 1, 11, 1},     // not ascending
  };
  for (const std::vector<double>& state : bad) {
    EXPECT_FALSE(MergeInto(&counts, state).ok()) << state.size();
  }
  EXPECT_EQ(StateOf(counts), good);
}

TEST(ScoreCountsTest, ResetForgetsTheDroppedBitsToo) {
  ScoreCounts counts(2);
  for (const uint32_t key : {1u, 100u, 200u}) counts.Add(ScoreCounts::Row(key, false));
  EXPECT_GT(counts.dropped_bits(), 0);
  counts.Reset();
  EXPECT_EQ(StateOf(counts), StateOf(ScoreCounts(2)));
}

}  // namespace
}  // namespace flotilla
