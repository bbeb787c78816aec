#include "flotilla/run/throttle.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

class HandClock : public Clock {
 public:
  int64_t NowNanos() const override { return nanos; }
  int64_t nanos = 5'000'000'000;
};

TEST(ThrottleTest, IsDueOncePerInterval) {
  HandClock clock;
  Throttle throttle(&clock, 2);
  EXPECT_FALSE(throttle.Due());
  clock.nanos += 1'999'999'999;
  EXPECT_FALSE(throttle.Due());
  clock.nanos += 1;
  EXPECT_TRUE(throttle.Due());
  EXPECT_FALSE(throttle.Due());
  clock.nanos += 5'000'000'000;  // missed intervals do not add up
  EXPECT_TRUE(throttle.Due());
  EXPECT_FALSE(throttle.Due());
}

}  // namespace
}  // namespace flotilla
