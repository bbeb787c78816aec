#include "flotilla/dataset/prepare/quantile_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(QuantileSummaryTest, BordersSplitIntoEqualParts) {
  QuantileSummary summary;
  const std::vector<double> numbers = {8, 1, 7, 2, 6, 3, 5, 4};
  summary.Add(numbers);
  EXPECT_THAT(summary.Borders(4), ElementsAre(3, 5, 7));
  EXPECT_THAT(summary.Borders(2), ElementsAre(5));
  EXPECT_TRUE(summary.exact());
}

TEST(QuantileSummaryTest, FrequentNumberIsAPartOfItsOwn) {
  QuantileSummary summary;
  summary.Add(std::vector<double>(90, 0.0));
  summary.Add(std::vector<double>{-0.0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(summary.Borders(10), ElementsAre(0.25));
  QuantileSummary same;
  same.Add(std::vector<double>(5, 3.0));
  EXPECT_THAT(same.Borders(4), IsEmpty());
  EXPECT_THAT(QuantileSummary().Borders(4), IsEmpty());
}

TEST(QuantileSummaryTest, ManyDistinctNumbersStayBoundedAndIndependentOfOrder) {
  const RngKey key = RngKey(3).With("numbers");
  std::vector<double> numbers;
  for (uint64_t i = 0; i < 50000; ++i) {
    numbers.push_back((static_cast<double>(key.Below(i, 1 << 30)) - (1 << 29)) / 77.0);
  }
  QuantileSummary forward(2000), backward(2000);
  forward.Add(numbers);
  std::reverse(numbers.begin(), numbers.end());
  backward.Add(numbers);
  EXPECT_FALSE(forward.exact());
  EXPECT_EQ(forward.Borders(16), backward.Borders(16));
  std::sort(numbers.begin(), numbers.end());
  const std::vector<double> borders = forward.Borders(16);
  ASSERT_EQ(borders.size(), 15u);
  for (size_t k = 0; k < borders.size(); ++k) {
    const auto below = std::lower_bound(numbers.begin(), numbers.end(), borders[k]);
    EXPECT_NEAR(static_cast<double>(below - numbers.begin()) / 50000, (k + 1) / 16.0, 0.01) << k;
  }
}

}  // namespace
}  // namespace flotilla
