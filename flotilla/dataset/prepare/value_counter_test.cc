#include "flotilla/dataset/prepare/value_counter.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "flotilla/base/hash.h"

namespace flotilla {
namespace {

// Value v occurs v % 7 + 1 times.
void AddValues(uint64_t begin, uint64_t end, ValueCounter* counter) {
  ValueCounter::Batch batch;
  for (uint64_t v = begin; v < end; ++v) {
    for (uint64_t i = 0; i <= v % 7; ++i) batch.Add(Mix64(v));
  }
  counter->Add(&batch);
}

TEST(ValueCounterTest, CountsAreExactWithoutABound) {
  ValueCounter counter;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&counter, t] { AddValues(t * 10'000, (t + 1) * 10'000, &counter); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(counter.exact());
  EXPECT_EQ(counter.likely_excess(), 0);
  EXPECT_EQ(counter.distinct(), 30'000);
  for (uint64_t v = 0; v < 30'000; ++v) ASSERT_EQ(counter.CountOf(Mix64(v)), v % 7 + 1);
  EXPECT_EQ(counter.CountOf(Mix64(30'000)), 0u);
}

TEST(ValueCounterTest, BatchIsEmptyAfterItWasAdded) {
  ValueCounter counter;
  ValueCounter::Batch batch;
  batch.Add(5);
  counter.Add(&batch);
  counter.Add(&batch);
  EXPECT_EQ(counter.CountOf(5), 1u);
}

TEST(ValueCounterTest, WhatFitsIntoTheBoundIsExact) {
  ValueCounter counter(1 << 20);
  AddValues(0, 10'000, &counter);
  EXPECT_TRUE(counter.exact());
  EXPECT_EQ(counter.CountOf(Mix64(6)), 7u);
}

TEST(ValueCounterTest, EstimatesAreNeverTooLowAndRarelyTooHigh) {
  constexpr uint64_t kValues = 200'000;
  ValueCounter counter(1 << 20);
  AddValues(0, kValues, &counter);
  EXPECT_FALSE(counter.exact());
  const double excess = counter.likely_excess();
  EXPECT_GT(excess, 0);
  uint64_t too_high = 0;
  for (uint64_t v = 0; v < kValues; ++v) {
    const uint64_t count = counter.CountOf(Mix64(v));
    ASSERT_GE(count, v % 7 + 1);
    too_high += static_cast<double>(count - (v % 7 + 1)) > excess;
  }
  EXPECT_LE(too_high, kValues / 50);
}

TEST(ValueCounterTest, EstimatesDoNotDependOnTheOrder) {
  constexpr uint64_t kValues = 100'000;
  ValueCounter forward(1 << 19), backward(1 << 19);
  for (uint64_t v = 0; v < kValues; v += 1000) {
    AddValues(v, v + 1000, &forward);
    AddValues(kValues - 1000 - v, kValues - v, &backward);
  }
  EXPECT_FALSE(forward.exact());
  for (uint64_t v = 0; v < kValues; ++v) {
    ASSERT_EQ(forward.CountOf(Mix64(v)), backward.CountOf(Mix64(v)));
  }
  EXPECT_EQ(forward.likely_excess(), backward.likely_excess());
}

TEST(ValueCounterTest, FrequentValuesAreListedMostFrequentFirst) {
  ValueCounter counter;
  ValueCounter::Batch batch;
  for (const uint64_t value : {7, 5, 7, 9, 5, 7, 3}) batch.Add(value << 50);
  counter.Add(&batch);
  EXPECT_EQ(counter.added(), 7);
  using Pairs = std::vector<std::pair<uint64_t, uint32_t>>;
  EXPECT_EQ(counter.AtLeast(2), (Pairs{{uint64_t{7} << 50, 3}, {uint64_t{5} << 50, 2}}));
  EXPECT_EQ(counter.AtLeast(1).size(), 4u);
  EXPECT_EQ(counter.AtLeast(1)[2].first, uint64_t{3} << 50);
}

}  // namespace
}  // namespace flotilla
