#include "flotilla/run/throttle.h"

#include <gtest/gtest.h>

#include "flotilla/base/manual_clock_testing.h"

namespace flotilla {
namespace {

TEST(ThrottleTest, IsDueOncePerInterval) {
  ManualClock clock;
  Throttle throttle(&clock, 2);
  EXPECT_FALSE(throttle.Due());
  clock.AdvanceMs(1999);
  EXPECT_FALSE(throttle.Due());
  clock.AdvanceMs(1);
  EXPECT_TRUE(throttle.Due());
  EXPECT_FALSE(throttle.Due());
  clock.AdvanceMs(5000);  // missed intervals do not add up
  EXPECT_TRUE(throttle.Due());
  EXPECT_FALSE(throttle.Due());
}

}  // namespace
}  // namespace flotilla
