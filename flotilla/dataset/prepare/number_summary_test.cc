#include "flotilla/dataset/prepare/number_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

constexpr size_t kLeastDistinct = 110'000;

int64_t NaivePercentile(std::vector<int64_t> numbers, int percent) {
  std::sort(numbers.begin(), numbers.end());
  const size_t rank = (numbers.size() * percent + 99) / 100;
  return numbers[rank - 1];
}

// Numbers of every size and sign.
std::vector<int64_t> RandomNumbers(uint64_t seed, size_t count) {
  const RngKey key(seed);
  std::vector<int64_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = key.Bits(2 * i) >> (4 + key.Below(2 * i + 1, 60));
    numbers[i] =
        key.Bits(2 * i + 1) % 4 == 0 ? -static_cast<int64_t>(bits) : static_cast<int64_t>(bits);
  }
  return numbers;
}

TEST(NumberSummaryTest, FewDistinctNumbersAreExact) {
  for (const size_t count : {1u, 2u, 19u, 20u, 21u, 1000u}) {
    const std::vector<int64_t> numbers = RandomNumbers(count, count);
    NumberSummary summary;
    summary.Add(numbers);
    EXPECT_TRUE(summary.exact());
    EXPECT_EQ(summary.count(), static_cast<int64_t>(count));
    EXPECT_EQ(summary.min(), *std::min_element(numbers.begin(), numbers.end()));
    for (const int percent : {1, 50, 95, 100}) {
      EXPECT_EQ(summary.Percentile(percent), NaivePercentile(numbers, percent)) << percent;
    }
  }
}

TEST(NumberSummaryTest, ManyDistinctNumbersAreAtMostAThousandthTooLarge) {
  const std::vector<int64_t> numbers = RandomNumbers(5, 400'000);
  NumberSummary summary(kLeastDistinct);
  summary.Add(numbers);
  EXPECT_FALSE(summary.exact());
  EXPECT_EQ(summary.min(), *std::min_element(numbers.begin(), numbers.end()));
  for (const int percent : {1, 5, 20, 50, 95, 99, 100}) {
    const int64_t expected = NaivePercentile(numbers, percent);
    const int64_t got = summary.Percentile(percent);
    EXPECT_GE(got, expected);
    EXPECT_LE(static_cast<double>(got - expected), 1e-3 * std::abs(static_cast<double>(expected)));
  }
}

TEST(NumberSummaryTest, ResultsDoNotDependOnOrderOrThreads) {
  std::vector<int64_t> numbers = RandomNumbers(6, 300'000);
  NumberSummary forward(kLeastDistinct), shared(kLeastDistinct);
  forward.Add(numbers);
  std::reverse(numbers.begin(), numbers.end());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < 300; i += 3) shared.Add({numbers.data() + 1000 * i, 1000});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int percent : {5, 50, 95}) {
    EXPECT_EQ(shared.Percentile(percent), forward.Percentile(percent));
  }
  EXPECT_EQ(shared.exact(), forward.exact());
  EXPECT_EQ(shared.count(), forward.count());
}

TEST(NumberSummaryTest, WithoutNumbersEverythingIsZero) {
  const NumberSummary summary;
  EXPECT_EQ(summary.count(), 0);
  EXPECT_EQ(summary.min(), 0);
  EXPECT_EQ(summary.Percentile(95), 0);
}

}  // namespace
}  // namespace flotilla
