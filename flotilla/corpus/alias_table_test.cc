#include "flotilla/corpus/alias_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

TEST(AliasTableTest, DrawsInProportionToTheWeights) {
  std::vector<double> weights;
  for (int i = 0; i < 50; ++i) weights.push_back(i % 7 == 3 ? 0 : 100.0 / (1 + i));
  const AliasTable table(weights);
  constexpr int kDraws = 400000;
  std::vector<int> counts(weights.size());
  for (uint64_t i = 0; i < kDraws; ++i) ++counts[table.Draw(RngKey(3).Bits(i))];
  double sum = 0;
  for (const double w : weights) sum += w;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = kDraws * weights[i] / sum;
    EXPECT_NEAR(counts[i], expected, 5 * std::sqrt(expected) + 1e-9) << i;
  }
}

TEST(AliasTableTest, EqualWeightsAndASingleOneWork) {
  const AliasTable one(std::vector<double>{0.1});
  EXPECT_EQ(one.Draw(0), 0u);
  EXPECT_EQ(one.Draw(~uint64_t{0}), 0u);
  const AliasTable equal(std::vector<double>(3, 1e-300));
  std::vector<int> counts(3);
  for (uint64_t i = 0; i < 30000; ++i) ++counts[equal.Draw(RngKey(3).Bits(i))];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

}  // namespace
}  // namespace flotilla
