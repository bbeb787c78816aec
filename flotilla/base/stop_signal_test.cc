#include "flotilla/base/stop_signal.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>

namespace flotilla {
namespace {

std::atomic<int> seen_by_former_handler = 0;
void FormerHandler(int number) { seen_by_former_handler = number; }

TEST(StopSignalTest, NothingHasComeAtFirst) {
  const StopSignal stop;
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.signal(), 0);
  EXPECT_EQ(stop.exit_code(), 0);
}

TEST(StopSignalTest, TheFirstSignalSetsTheFlagAndTheExitCode) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const StopSignal stop;  // a new object starts without a signal
    raise(number);
    EXPECT_TRUE(stop.stopped());
    EXPECT_EQ(stop.signal(), number);
    EXPECT_EQ(stop.exit_code(), 128 + number);
  }
}

TEST(StopSignalTest, TheFirstSignalRaisesTheInterrupt) {
  Interrupt interrupt;
  const StopSignal stop(&interrupt);
  EXPECT_FALSE(interrupt.raised());
  raise(SIGTERM);
  EXPECT_EQ(interrupt.status(), absl::CancelledError("stopped by signal 15 (Terminated)"));
}

TEST(StopSignalTest, AnIgnoredHangUpStaysIgnored) {
  struct sigaction ignore = {}, kept = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &kept);
  {
    const StopSignal stop;
    raise(SIGHUP);
    EXPECT_FALSE(stop.stopped());
  }
  sigaction(SIGHUP, &kept, nullptr);
}

TEST(StopSignalTest, AClosedTerminalMayHangUpTwice) {
  const StopSignal stop;
  raise(SIGHUP);
  raise(SIGHUP);
  EXPECT_EQ(stop.exit_code(), 128 + SIGHUP);
}

TEST(StopSignalTest, ASignalThatAnotherThreadTakesIsSeenHere) {
  const StopSignal stop;
  std::thread worker([] { pthread_kill(pthread_self(), SIGTERM); });
  worker.join();
  EXPECT_EQ(stop.signal(), SIGTERM);
}

TEST(StopSignalTest, FormerHandlersComeBack) {
  struct sigaction mine = {}, kept = {};
  mine.sa_handler = FormerHandler;
  sigaction(SIGINT, &mine, &kept);
  {
    const StopSignal stop;
    raise(SIGINT);
    EXPECT_EQ(seen_by_former_handler, 0);
  }
  raise(SIGINT);
  EXPECT_EQ(seen_by_former_handler, SIGINT);
  sigaction(SIGINT, &kept, nullptr);
}

// The race that it avoids shows under tsan.
TEST(StopSignalTest, EndsAfterTheHandlersOfOtherThreads) {
  for (int i = 0; i < 200; ++i) {
    std::thread sender;
    {
      Interrupt interrupt;
      const StopSignal stop(&interrupt);
      sender = std::thread([] { raise(SIGTERM); });
      while (!stop.stopped()) std::this_thread::yield();
    }
    sender.join();
  }
}

TEST(StopSignalDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const StopSignal stop;
        raise(SIGINT);
        if (!stop.stopped()) _exit(1);
        raise(SIGTERM);
        _exit(0);
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace flotilla
