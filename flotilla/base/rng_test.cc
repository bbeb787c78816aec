#include "flotilla/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace flotilla {
namespace {

TEST(RngKeyTest, ValueDependsOnlyOnKeyAndCounter) {
  const RngKey key = RngKey(7).With("emb").With(12345);
  const uint64_t first = key.Bits(3);
  for (uint64_t i = 0; i < 100; ++i) key.Bits(i);
  EXPECT_EQ(RngKey(7).With("emb").With(12345).Bits(3), first);
}

TEST(RngKeyTest, DifferentPartsGiveDifferentStreams) {
  EXPECT_NE(RngKey(7).With(1).With(2).Bits(0), RngKey(7).With(2).With(1).Bits(0));
  EXPECT_NE(RngKey(7).With("a").Bits(0), RngKey(7).With("b").Bits(0));
  EXPECT_NE(RngKey(7).Bits(0), RngKey(8).Bits(0));
}

TEST(RngKeyTest, UniformHasTheRightMeanAndVariance) {
  const RngKey key(1);
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double u = key.Uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST(RngKeyTest, NormalHasTheRightMeanAndVariance) {
  const RngKey key(2);
  const int n = 100000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = key.Normal(i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.0, 0.015);
  EXPECT_NEAR(squares / n, 1.0, 0.02);
}

TEST(RngKeyTest, BelowCoversItsRangeEvenly) {
  std::vector<int> counts(10);
  for (int i = 0; i < 100000; ++i) ++counts[RngKey(3).Below(i, 10)];
  for (int count : counts) EXPECT_NEAR(count, 10000, 500);
}

}  // namespace
}  // namespace flotilla
