#include "flotilla/metric/gauc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct GroupedRow {
  uint64_t group;
  float score;
  float label;
  float weight = 1;
};

void Add(GaucMeter& gauc, std::span<const GroupedRow> rows) {
  std::vector<float> scores, labels, weights;
  RaggedIds groups;
  bool weighted = false;
  for (const GroupedRow& row : rows) {
    groups.ids.push_back(row.group);
    scores.push_back(row.score);
    labels.push_back(row.label);
    weights.push_back(row.weight);
    weighted = weighted || row.weight != 1;
  }
  if (!weighted) weights.clear();
  const FetchedValue inputs[] = {{scores, 1, true}, {labels, 1, true}};
  gauc.Add({static_cast<int64_t>(rows.size()), inputs, weights, {.ids = &groups}});
}

// Ids far above 2^53, which a double cannot tell apart; scores with ties.
std::vector<GroupedRow> RandomGroups(int64_t count, uint64_t groups, bool weighted = false) {
  const RngKey key = RngKey(8).With("gauc");
  std::vector<GroupedRow> rows;
  for (int64_t i = 0; i < count; ++i) {
    const bool click = key.Below(4 * i, 3) == 0;
    const auto level = key.Below(4 * i + 1, 20) + (click ? 3 : 0);
    rows.push_back({.group = ~uint64_t{0} - key.Below(4 * i + 2, groups),
                    .score = static_cast<float>(level) / 24,
                    .label = click ? 1.0f : 0.0f,
                    .weight = weighted ? static_cast<float>(key.Below(4 * i + 3, 8)) / 4 : 1});
  }
  return rows;
}

struct NaiveGauc {
  double value = 0;
  double groups = 0;
  double left_out = 0;
};

// Counts all pairs of every group.
NaiveGauc Naive(std::span<const GroupedRow> rows) {
  std::map<uint64_t, std::vector<GroupedRow>> by_group;
  for (const GroupedRow& row : rows) by_group[row.group].push_back(row);
  double area = 0, weight = 0;
  NaiveGauc expected;
  for (const auto& [id, group] : by_group) {
    double won = 0, pairs = 0, own = 0;
    for (const GroupedRow& a : group) {
      own += a.weight;
      for (const GroupedRow& b : group) {
        if (a.label != 1 || b.label != 0) continue;
        const double pair = a.weight * b.weight;
        pairs += pair;
        won += pair * (a.score > b.score ? 1 : a.score == b.score ? 0.5 : 0);
      }
    }
    ++(pairs > 0 ? expected.groups : expected.left_out);
    if (pairs == 0) continue;
    area += own * won / pairs;
    weight += own;
  }
  expected.value = area / weight;
  return expected;
}

TEST(GaucTest, EqualsCountingThePairsOfEveryGroup) {
  for (const uint64_t groups : {1, 10, 300}) {
    for (const bool weighted : {false, true}) {
      const std::vector<GroupedRow> rows = RandomGroups(1000, groups, weighted);
      const NaiveGauc expected = Naive(rows);
      GaucMeter gauc(kGaucMaxRows);
      for (size_t begin = 0; begin < rows.size(); begin += 250) {
        Add(gauc, std::span(rows).subspan(begin, 250));
      }
      EXPECT_NEAR(gauc.Value(), expected.value, 1e-12) << groups << " " << weighted;
      const MetricValues details = gauc.Details();
      EXPECT_EQ(MetricValue(details, "groups"), expected.groups);
      EXPECT_EQ(MetricValue(details, "groups_left_out"), expected.left_out);
      EXPECT_EQ(MetricValue(details, "sample"), 1);
    }
  }
}

// Scores that tell users apart, but not the rows of a user.
TEST(GaucTest, OrderBetweenGroupsDoesNotCount) {
  GaucMeter gauc(kGaucMaxRows);
  Add(gauc, std::vector<GroupedRow>{
                {1, 0.9f, 1}, {1, 0.9f, 1}, {1, 0.9f, 0}, {2, 0.1f, 1}, {2, 0.1f, 0}});
  EXPECT_EQ(gauc.Value(), 0.5);
}

TEST(GaucTest, GroupsOfOneClassAreLeftOutAndCounted) {
  GaucMeter gauc(kGaucMaxRows);
  Add(gauc, std::vector<GroupedRow>{
                {1, 0.9f, 1}, {1, 0.1f, 0}, {2, 0.3f, 1}, {3, 0.2f, 0}, {3, 0.4f, 0}});
  EXPECT_EQ(gauc.Value(), 1);
  EXPECT_THAT(gauc.Details(), ElementsAre(Pair("groups", 1), Pair("groups_left_out", 2),
                                          Pair("rows_left_out", 3), Pair("sample", 1)));
  EXPECT_EQ(gauc.Hint(), "");
  GaucMeter none(kGaucMaxRows);
  Add(none, std::vector<GroupedRow>{{1, 0.9f, 1}, {2, 0.1f, 0}});
  EXPECT_TRUE(std::isnan(none.Value()));
  EXPECT_THAT(none.Hint(), HasSubstr("each of 2 groups has rows of one class only"));
}

TEST(GaucTest, RowsWithoutAGroupAreLeftOut) {
  const std::vector<float> scores = {0.9f, 0.1f, 0.3f}, labels = {1, 0, 1};
  const RaggedIds groups{.ids = {4, 5, 4}, .offsets = {0, 2, 3, 3}};
  const FetchedValue inputs[] = {{scores, 1, true}, {labels, 1, true}};
  GaucMeter gauc(kGaucMaxRows);
  gauc.Add({3, inputs, {}, {.ids = &groups}});
  EXPECT_EQ(gauc.Value(), 1) << "the first id of a row is its group";
  EXPECT_EQ(MetricValue(gauc.Details(), "rows_left_out"), 1);
}

TEST(GaucTest, ABrokenRowMakesItNan) {
  GaucMeter gauc(kGaucMaxRows);
  Add(gauc, std::vector<GroupedRow>{{1, 0.9f, 1}, {1, 0.1f, 0}, {1, NAN, 0}});
  EXPECT_TRUE(std::isnan(gauc.Value()));
  EXPECT_THAT(gauc.Hint(), HasSubstr("1 rows have a score or label that is NaN"));
}

// The rows that are kept depend only on the ids: not on the order of rows, nor on how they were
// spread over workers.
TEST(GaucTest, MoreRowsThanMaxRowsAreASampleOfWholeGroups) {
  const std::vector<GroupedRow> rows = RandomGroups(20000, 2000, true);
  GaucMeter whole(6000), first(6000), second(6000), merged(6000);
  Add(whole, rows);
  for (size_t i = 0; i < rows.size(); ++i) Add(i % 3 == 0 ? first : second, {&rows[i], 1});
  ASSERT_TRUE(merged.Merge(second.State()).ok());
  ASSERT_TRUE(merged.Merge(first.State()).ok());
  const MetricValues details = whole.Details();
  EXPECT_EQ(MetricValue(details, "sample"), 0.25);
  EXPECT_NEAR(MetricValue(details, "groups"), 500, 60);
  EXPECT_EQ(merged.State(), whole.State());
  EXPECT_EQ(merged.Value(), whole.Value());
  EXPECT_NEAR(whole.Value(), Naive(rows).value, 0.04);
  whole.Reset();
  EXPECT_EQ(whole.State(), GaucMeter(6000).State());
}

TEST(GaucTest, AGroupThatIsTooLargeToKeepIsExplained) {
  GaucMeter gauc(10);
  Add(gauc, RandomGroups(100, 1));
  EXPECT_TRUE(std::isnan(gauc.Value()));
  EXPECT_THAT(gauc.Hint(), HasSubstr("more than 10 rows are in a few groups"));
}

TEST(GaucTest, TheLiveStateIsASmallSample) {
  const std::vector<GroupedRow> rows = RandomGroups(100000, 5000);
  GaucMeter gauc(kGaucMaxRows), live(kGaucMaxRows);
  Add(gauc, rows);
  const std::vector<double> state = gauc.LiveState();
  EXPECT_LT(state.size(), gauc.State().size() / 4);
  ASSERT_TRUE(live.Merge(state).ok());
  EXPECT_NEAR(live.Value(), gauc.Value(), 0.02);
  EXPECT_NE(live.Value(), gauc.Value());
  EXPECT_EQ(MetricValue(gauc.Details(), "sample"), 1) << "unchanged";
}

TEST(GaucTest, AStateThatMakesNoSenseIsAnError) {
  GaucMeter plain(kGaucMaxRows), weighted(kGaucMaxRows);
  Add(plain, std::vector<GroupedRow>{{1, 0.9f, 1}, {1, 0.1f, 0}, {2, 0.5f, 1}});
  Add(weighted, std::vector<GroupedRow>{{1, 0.9f, 1, 2}, {1, 0.1f, 0, 0.5f}, {2, 0.5f, 1}});
  for (const std::vector<double>& good : {plain.State(), weighted.State()}) {
    GaucMeter merged(kGaucMaxRows);
    ASSERT_TRUE(merged.Merge(good).ok());
    EXPECT_EQ(merged.State(), good);
    for (size_t size = 0; size < good.size(); ++size) {
      const bool whole_groups = size == 4 || size == good.size() - (good[3] == 1 ? 5 : 4);
      EXPECT_EQ(GaucMeter(8).Merge(std::span(good).first(size)).ok(), whole_groups) << size;
    }
    for (size_t i = 0; i < good.size(); ++i) {
      for (const double wrong : {-1.0, 1e300, double{NAN}, double{INFINITY}}) {
        std::vector<double> state = good;
        state[i] = wrong;
        EXPECT_FALSE(GaucMeter(8).Merge(state).ok()) << i << " " << wrong;
      }
    }
  }
}

}  // namespace
}  // namespace flotilla
