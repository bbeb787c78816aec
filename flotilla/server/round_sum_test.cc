#include "flotilla/server/round_sum.h"

#include <gtest/gtest.h>

#include <map>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

constexpr int64_t kDim = 3;

RoundPart RandomPart(uint64_t seed, int64_t dense) {
  const RngKey key(seed);
  RoundPart part;
  part.rows = static_cast<int64_t>(1 + key.Below(0, 50));
  SparseRows& rows = part.sparse.emplace_back();
  rows.dim = kDim;
  for (uint64_t id = 0; id < 40; ++id) {
    if (key.With("id").Below(id, 2) == 0) rows.ids.push_back(id * id);
  }
  for (size_t i = 0; i < rows.size() * kDim; ++i) rows.values.push_back(key.With("v").Normal(i));
  for (int64_t i = 0; i < dense; ++i) {
    part.dense.push_back(key.With("d").Normal(static_cast<uint64_t>(i)));
  }
  return part;
}

TEST(RoundSumTest, TheMeanIsThatOfAPlainLoopInTheSameOrder) {
  constexpr int64_t kDense = 100;
  RoundSum sum({kDim}, kDense, {});
  for (int round = 0; round < 3; ++round) {  // the object is reused
    sum.Start();
    std::map<uint64_t, std::array<float, kDim>> rows;
    std::vector<float> dense(kDense);
    const int parts = 1 + round * 2;
    for (int p = 0; p < parts; ++p) {
      const RoundPart part = RandomPart(static_cast<uint64_t>(round * 10 + p), kDense);
      sum.Add(part);
      for (size_t i = 0; i < part.sparse[0].size(); ++i) {
        for (int64_t d = 0; d < kDim; ++d) {
          rows[part.sparse[0].ids[i]][d] += part.sparse[0].row(i)[d];
        }
      }
      for (int64_t i = 0; i < kDense; ++i) dense[i] += part.dense[i];
    }
    EXPECT_EQ(sum.parts(), parts);
    const RoundPart& mean = sum.Mean();
    const float share = 1.0f / static_cast<float>(parts);
    ASSERT_EQ(mean.sparse[0].size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      for (int64_t d = 0; d < kDim; ++d) {
        EXPECT_EQ(mean.sparse[0].row(i)[d], rows[mean.sparse[0].ids[i]][d] * share);
      }
    }
    for (int64_t i = 0; i < kDense; ++i) EXPECT_EQ(mean.dense[i], dense[i] * share);
  }
}

TEST(RoundSumTest, RowsKeepTheOrderOfTheirFirstAppearance) {
  RoundSum sum({1}, 0, {});
  sum.Start();
  const auto part = [](std::vector<uint64_t> ids) {
    RoundPart p;
    p.sparse.push_back({.dim = 1, .ids = ids, .values = AlignedVector<float>(ids.size(), 1)});
    return p;
  };
  sum.Add(part({9, 3}));
  sum.Add(part({4, 9, 1}));
  EXPECT_EQ(sum.Mean().sparse[0].ids, (std::vector<uint64_t>{9, 3, 4, 1}));
  EXPECT_EQ(sum.Mean().sparse[0].size(), 4u);
}

TEST(RoundSumTest, StatisticsAreWeightedByExamples) {
  RoundSum sum({}, 6, {{2, 4}});
  sum.Start();
  RoundPart a, b;
  a.rows = 1;
  a.dense = {1, 1, 10, 10, 1, 1};
  b.rows = 3;
  b.dense = {3, 3, 20, 20, 3, 3};
  sum.Add(a);
  sum.Add(b);
  EXPECT_EQ(sum.Mean().dense, (AlignedVector<float>{2, 2, 17.5f, 17.5f, 2, 2}));
}

TEST(RoundSumTest, APartWithoutDenseValuesCountsAsZeros) {
  RoundSum sum({}, 2, {});
  sum.Start();
  RoundPart none, some;
  some.dense = {4, 8};
  sum.Add(none);
  sum.Add(some);
  EXPECT_EQ(sum.Mean().dense, (AlignedVector<float>{2, 4}));
  EXPECT_EQ(some.memory_bytes(), 8u);
}

}  // namespace
}  // namespace flotilla
