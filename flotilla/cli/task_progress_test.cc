#include "flotilla/cli/task_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class HandClock : public Clock {
 public:
  int64_t NowNanos() const override { return nanos; }
  int64_t nanos = 0;
};

constexpr int64_t kSecond = 1'000'000'000;

TEST(TaskProgressTest, MomentHasRateAndTimeLeft) {
  EXPECT_EQ(PlainLine(ProgressMoment("count", 1200, "rows", 2, 0.25)),
            "count, 25 %, 1.20 k rows, 600 rows/s, 6.0 s left");
  EXPECT_EQ(PlainLine(ProgressMoment("make", 120, "words", 2, 0)), "make, 120 words, 60 words/s");
  EXPECT_EQ(ProgressMoment("make", 120, "words", 2, 0).share, -1);
  EXPECT_THAT(PlainLine(ProgressMoment("check", 1, "rows", 5, 1.5)),
              HasSubstr("100 %, 1 rows, 0 rows/s, 0.00 s left"));
}

TEST(TaskProgressTest, LinesComeOncePerIntervalAndRatesAreThoseOfTheStage) {
  std::ostringstream out, err;
  HandClock clock;
  Console console(err, &clock, {.line_seconds = 3});
  Terminal terminal{.out = out, .console = console, .log = console.log(), .clock = clock};
  TaskProgress progress(terminal, "rows");
  progress.Update(10, 0.1, "count");
  EXPECT_EQ(err.str(), "");
  clock.nanos = 4 * kSecond;
  progress.Update(40, 0.4, "count");
  EXPECT_THAT(err.str(), HasSubstr("count, 40 %, 40 rows, 10 rows/s, 6.0 s left\n"));
  progress.Update(41, 0.4, "count");
  EXPECT_THAT(err.str(), Not(HasSubstr("41 rows")));
  clock.nanos = 5 * kSecond;
  progress.Update(1, 0, "write");
  clock.nanos = 9 * kSecond;
  progress.Update(8, 0, "write");
  EXPECT_THAT(err.str(), HasSubstr("write, 8 rows, 2 rows/s\n"));
  EXPECT_EQ(progress.Seconds(), 9);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace flotilla
