#include "flotilla/base/pause_watch.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(PauseWatchTest, TheFirstLookIsNeverLate) {
  PauseWatch watch(500, 2'000);
  EXPECT_EQ(watch.Late(90'000 * kMs), 0);
  EXPECT_EQ(watch.Look(90'000 * kMs), 0);
}

TEST(PauseWatchTest, ALookThatIsLaterThanItMayBeIsAPause) {
  PauseWatch watch(500, 2'000);
  watch.Look(1'000 * kMs);
  EXPECT_EQ(watch.Look(3'500 * kMs), 0);  // just within the slack
  EXPECT_EQ(watch.Late(15'500 * kMs), 11'500 * kMs);
  EXPECT_EQ(watch.Look(15'500 * kMs), 11'500 * kMs);
  EXPECT_EQ(watch.Look(16'000 * kMs), 0);
}

}  // namespace
}  // namespace flotilla
