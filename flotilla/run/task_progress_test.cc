#include "flotilla/run/task_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "flotilla/base/manual_clock_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  ManualClock clock;
  Console console(err, &clock, {.line_seconds = 3});
  Terminal terminal{.out = out, .console = console, .log = console.log(), .clock = clock};
  TaskProgress progress(terminal, "rows");
  progress.Update(10, 0.1, "count");
  EXPECT_EQ(err.str(), "");
  clock.AdvanceMs(4000);
  progress.Update(40, 0.4, "count");
  EXPECT_THAT(err.str(), HasSubstr("count, 40 %, 40 rows, 10 rows/s, 6.0 s left\n"));
  progress.Update(41, 0.4, "count");
  EXPECT_THAT(err.str(), Not(HasSubstr("41 rows")));
  clock.AdvanceMs(1000);
  progress.Update(1, 0, "write");
  clock.AdvanceMs(4000);
  progress.Update(8, 0, "write");
  EXPECT_THAT(err.str(), HasSubstr("write, 8 rows, 2 rows/s\n"));
  EXPECT_EQ(progress.Seconds(), 9);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace flotilla
