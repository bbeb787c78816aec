#include "flotilla/communicator/geo_interval.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(GeoIntervalTest, AFixedNumberIsKept) {
  GeoInterval interval({.push_nums = 100});
  EXPECT_EQ(interval.batches(1'000'000), 100);
  interval.Measured(10, 100, 1);
  interval.set_epoch_batches(40);
  EXPECT_EQ(interval.batches(1'000'000), 100);
}

TEST(GeoIntervalTest, ExchangesTakeTheShareOfTimeTheyMay) {
  GeoInterval interval({.cost_share = 0.05, .first_batches = 7});
  EXPECT_EQ(interval.batches(1'000'000), 7);
  interval.Measured(0.1, 20, 1.0);  // 0.05 s a batch: 0.1 s are 5 % of 40 of them
  EXPECT_EQ(interval.batches(1'000'000), 40);
  interval.Measured(1e-6, 20, 1.0);
  EXPECT_EQ(interval.batches(1'000'000), 1);
}

TEST(GeoIntervalTest, TheIntervalHasBounds) {
  GeoInterval interval({.cost_share = 0.01, .exchanges_per_epoch = 20, .most_batches = 300});
  interval.Measured(1e9, 1, 1);
  EXPECT_EQ(interval.batches(1'000'000), 300);
  interval.set_epoch_batches(1000);
  EXPECT_EQ(interval.batches(1'000'000), 50) << "twenty in an epoch";
  interval.set_epoch_batches(5);
  EXPECT_EQ(interval.batches(1'000'000), 1);
}

TEST(GeoIntervalTest, AMeasurementOfNothingIsLeftOut) {
  GeoInterval interval({.first_batches = 9});
  interval.Measured(1, 0, 1);
  interval.Measured(1, 10, 0);
  EXPECT_EQ(interval.batches(1'000'000), 9);
}

TEST(GeoIntervalTest, WhatIsDoneStandsForAnEpochOfUnknownLength) {
  GeoInterval interval(
      {.cost_share = 0.01, .exchanges_per_epoch = 50, .warm_up = 20, .first_batches = 10});
  interval.Measured(1e9, 1, 1);
  EXPECT_EQ(interval.batches(0), 1);
  EXPECT_EQ(interval.batches(100), 6) << "often at the start";
  EXPECT_EQ(interval.batches(499), 10);
  EXPECT_EQ(interval.batches(1000), 20);
}

}  // namespace
}  // namespace flotilla
