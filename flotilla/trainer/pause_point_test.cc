#include "flotilla/trainer/pause_point.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace flotilla {
namespace {

TEST(PausePointTest, WithoutARequestNobodyWaits) {
  PausePoint point;
  point.Start(2);
  int calls = 0;
  EXPECT_TRUE(point.Arrive([&] { return ++calls, absl::OkStatus(); }).ok());
  EXPECT_EQ(calls, 0);
}

TEST(PausePointTest, TheWorkIsDoneOnceWhileEveryWorkerStandsStill) {
  constexpr int kWorkers = 4, kRounds = 200;
  PausePoint point;
  point.Start(kWorkers);
  std::atomic<int> inside = 0;
  int pauses = 0, disturbed = 0;  // written only by the work
  const auto work = [&] {
    ++pauses;
    if (inside != 0) ++disturbed;
    return absl::OkStatus();
  };
  std::vector<std::thread> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&, w] {
      for (int round = 0; round < kRounds; ++round) {
        ++inside;
        std::this_thread::yield();
        --inside;
        if (w == 0 && round % 10 == 0) point.Request();
        EXPECT_TRUE(point.Arrive(work).ok());
      }
      EXPECT_TRUE(point.Leave(work).ok());
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_GE(pauses, 1);
  EXPECT_EQ(disturbed, 0);
}

TEST(PausePointTest, AWorkerThatLeavesDoesTheWorkOfThoseWhoWaitForIt) {
  PausePoint point;
  point.Start(2);
  point.Request();
  std::atomic<int> calls = 0;
  const auto work = [&] { return ++calls, absl::OkStatus(); };
  std::thread waiting([&] { EXPECT_TRUE(point.Arrive(work).ok()); });
  EXPECT_TRUE(point.Leave(work).ok());
  waiting.join();
  EXPECT_EQ(calls, 1);
}

TEST(PausePointTest, AnErrorReachesEveryoneWhoWaited) {
  PausePoint point;
  point.Start(2);
  point.Request();
  const auto work = [] { return Status(InvalidArgument("disk full")); };
  std::thread other([&] { EXPECT_FALSE(point.Arrive(work).ok()); });
  EXPECT_FALSE(point.Arrive(work).ok());
  other.join();
}

}  // namespace
}  // namespace flotilla
