#include "flotilla/server/liveness.h"

#include <gtest/gtest.h>

#include <thread>

#include "flotilla/base/manual_clock_testing.h"

namespace flotilla {
namespace {

TEST(LivenessTest, ASilentTrainerEndsTheJob) {
  ManualClock clock;
  Liveness liveness({.trainers = 2}, &clock);
  EXPECT_TRUE(liveness.Join(0).ok());
  EXPECT_TRUE(liveness.Join(1).ok());
  clock.AdvanceMs(9'000);
  EXPECT_TRUE(liveness.Heard(0).ok());
  clock.AdvanceMs(1'001);
  EXPECT_TRUE(liveness.Check(clock.NowNanos()).empty());
  EXPECT_EQ(liveness.status().message(), "trainer 1 has been silent for 10001 ms: taken for dead");
  EXPECT_FALSE(liveness.Heard(1).ok());
  EXPECT_TRUE(liveness.Heard(0).ok());
}

TEST(LivenessTest, WhereAllowedTheOthersGoOnAndTheDeadStayDead) {
  ManualClock clock;
  Liveness liveness({.trainers = 3, .lost_trainer_ends_job = false}, &clock);
  for (int t = 0; t < 3; ++t) EXPECT_TRUE(liveness.Join(t).ok());
  clock.AdvanceMs(11'000);
  EXPECT_TRUE(liveness.Heard(0).ok());
  EXPECT_TRUE(liveness.Heard(2).ok());
  EXPECT_EQ(liveness.Check(clock.NowNanos()), std::vector<int>{1});
  EXPECT_TRUE(liveness.Check(clock.NowNanos()).empty());  // told once
  EXPECT_TRUE(liveness.status().ok());
  EXPECT_EQ(liveness.Heard(1).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(liveness.Join(1).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(liveness.Describe(1), "it was taken for dead");
}

TEST(LivenessTest, AJobThatLosesEveryoneFails) {
  ManualClock clock;
  Liveness liveness({.trainers = 2, .lost_trainer_ends_job = false}, &clock);
  EXPECT_TRUE(liveness.Join(0).ok());
  EXPECT_TRUE(liveness.Join(1).ok());
  clock.AdvanceMs(11'000);
  EXPECT_EQ(liveness.Check(clock.NowNanos()).size(), 2u);
  EXPECT_EQ(liveness.status().message(), "all trainers have fallen silent");
}

TEST(LivenessTest, ThoseWhoStoppedMayBeSilent) {
  ManualClock clock;
  Liveness liveness({.trainers = 2}, &clock);
  EXPECT_TRUE(liveness.Join(0).ok());
  EXPECT_TRUE(liveness.Join(1).ok());
  liveness.Stop(0);
  EXPECT_FALSE(liveness.WaitForEnd(0));
  clock.AdvanceMs(9'000);
  EXPECT_TRUE(liveness.Heard(1).ok());
  clock.AdvanceMs(9'000);
  liveness.Check(clock.NowNanos());
  EXPECT_TRUE(liveness.status().ok());
  liveness.Stop(1);
  EXPECT_TRUE(liveness.WaitForEnd(0));
  EXPECT_TRUE(liveness.status().ok());
}

TEST(LivenessTest, NobodyIsBlamedForAPauseOfTheServer) {
  ManualClock clock;
  Liveness liveness({.trainers = 2, .start_timeout_ms = 15'000}, &clock);
  EXPECT_TRUE(liveness.Join(0).ok());
  clock.AdvanceMs(3'000);
  clock.AdvanceMs(12'000);
  liveness.Forgive(clock.NowNanos(), 12'000'000'000);
  liveness.Check(clock.NowNanos());
  EXPECT_TRUE(liveness.status().ok()) << liveness.status();
  clock.AdvanceMs(7'001);
  liveness.Check(clock.NowNanos());
  EXPECT_EQ(liveness.status().message(), "trainer 0 has been silent for 10001 ms: taken for dead");
}

TEST(LivenessTest, ALateCopyOfAHandshakeDoesNotRestartATrainerThatHasStopped) {
  ManualClock clock;
  Liveness liveness({.trainers = 1}, &clock);
  EXPECT_TRUE(liveness.Join(0).ok());
  clock.AdvanceMs(20);
  EXPECT_EQ(liveness.Describe(0), "it was last heard 20 ms ago");
  liveness.Stop(0);
  EXPECT_TRUE(liveness.Join(0).ok());
  EXPECT_EQ(liveness.Describe(0), "it has finished");
  EXPECT_TRUE(liveness.WaitForEnd(0));
  clock.AdvanceMs(60'000);
  liveness.Check(clock.NowNanos());
  EXPECT_TRUE(liveness.status().ok());
}

TEST(LivenessTest, TrainersThatNeverCameAreNamed) {
  ManualClock clock;
  Liveness liveness({.trainers = 3, .start_timeout_ms = 5'000}, &clock);
  EXPECT_TRUE(liveness.Join(1).ok());
  EXPECT_FALSE(liveness.Heard(0).ok());
  clock.AdvanceMs(4'999);
  liveness.Check(clock.NowNanos());
  EXPECT_TRUE(liveness.status().ok());
  clock.AdvanceMs(1);
  liveness.Check(clock.NowNanos());
  EXPECT_EQ(liveness.status().message(), "trainer 0, 2 did not connect within 5000 ms");
}

TEST(LivenessTest, ATrainerThatWasRefusedIsMissedWithTheReason) {
  ManualClock clock;
  Liveness liveness({.trainers = 2, .start_timeout_ms = 5'000}, &clock);
  liveness.Refused(1, absl::FailedPreconditionError("the models differ"));
  EXPECT_TRUE(liveness.Join(0).ok());
  clock.AdvanceMs(5'000);
  liveness.Check(clock.NowNanos());
  EXPECT_EQ(liveness.status().message(),
            "trainer 1 did not connect within 5000 ms; trainer 1 was refused: the models differ");
}

TEST(LivenessTest, TrainersAreHeardWhileTheySpeakAndHaveNotStopped) {
  ManualClock clock;
  Liveness liveness({.trainers = 2}, &clock);
  EXPECT_FALSE(liveness.AnyHeard(3'000));  // nobody came yet
  EXPECT_TRUE(liveness.Join(0).ok());
  EXPECT_TRUE(liveness.Join(1).ok());
  clock.AdvanceMs(2'000);
  EXPECT_TRUE(liveness.Heard(1).ok());
  clock.AdvanceMs(2'000);
  EXPECT_TRUE(liveness.AnyHeard(3'000));  // trainer 1
  liveness.Stop(1);
  EXPECT_FALSE(liveness.AnyHeard(3'000));  // trainer 0 is silent
}

TEST(LivenessTest, TheFirstErrorIsKept) {
  ManualClock clock;
  Liveness liveness({.trainers = 1}, &clock);
  liveness.Fail(absl::AbortedError("first"));
  liveness.Fail(absl::AbortedError("second"));
  EXPECT_EQ(liveness.status().message(), "first");
}

TEST(LivenessTest, AfterAFailureTheEndComesWhenEveryoneAliveWasTold) {
  ManualClock clock;
  Liveness liveness({.trainers = 3}, &clock);
  EXPECT_TRUE(liveness.Join(0).ok());
  EXPECT_TRUE(liveness.Join(1).ok());
  liveness.Stop(1);
  liveness.Fail(absl::AbortedError("over"));
  std::thread teller([&] { liveness.Told(0); });
  EXPECT_TRUE(liveness.WaitUntilTold(60'000));  // trainer 2 never came
  teller.join();
}

}  // namespace
}  // namespace flotilla
