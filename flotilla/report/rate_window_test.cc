#include "flotilla/report/rate_window.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

TEST(RateWindowTest, IsZeroUntilTimeHasPassed) {
  RateWindow window(5);
  EXPECT_EQ(window.rate(), 0);
  window.Add(100, 1);
  EXPECT_EQ(window.rate(), 0);
  window.Add(200, 1);
  EXPECT_EQ(window.rate(), 0);
}

TEST(RateWindowTest, CountsFromTheFirstPointWhileTheWindowFills) {
  RateWindow window(5);
  window.Add(1000, 10);  // a resumed run does not begin at 0
  window.Add(1200, 12);
  EXPECT_DOUBLE_EQ(window.rate(), 100);
}

TEST(RateWindowTest, ForgetsWhatIsOlderThanTheWindow) {
  RateWindow window(5);
  double total = 0, now = 0;
  for (; now < 20; now += 0.01) window.Add(total += 10, now);   // 1000 per second
  for (; now < 25.5; now += 0.01) window.Add(total += 1, now);  // 100 per second
  EXPECT_NEAR(window.rate(), 100, 1);
}

TEST(RateWindowTest, ShowsAChangeInTheShareOfTheWindowThatPassed) {
  RateWindow window(4);
  double total = 0, now = 0;
  for (; now < 10; now += 0.01) window.Add(total += 10, now);
  for (; now < 12; now += 0.01) window.Add(total += 0, now);  // half the window: a stall
  EXPECT_NEAR(window.rate(), 500, 30);
}

TEST(RateWindowTest, WhatGoesBackIsNotCounted) {
  RateWindow window(5);
  window.Add(100, 1);
  window.Add(200, 2);
  window.Add(50, 3);
  window.Add(300, 1.5);
  EXPECT_DOUBLE_EQ(window.rate(), 100);
}

}  // namespace
}  // namespace flotilla
