#include "flotilla/base/turns.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace flotilla {
namespace {

constexpr std::chrono::milliseconds kLong(60'000);

TEST(TurnsTest, AtMostAsManyAtOnceAsThereAre) {
  const auto turns = Turns::Make(2);
  ASSERT_TRUE(turns.ok()) << turns.status();
  std::atomic<int> inside = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      // Every second thread opens the turns by name, as another process does.
      const auto opened = Turns::Open((*turns)->name());
      ASSERT_TRUE(opened.ok()) << opened.status();
      EXPECT_EQ((*opened)->count(), 2);
      Turns& own = t % 2 == 0 ? **turns : **opened;
      for (int i = 0; i < 200; ++i) {
        auto turn = own.Take(kLong);
        ASSERT_TRUE(turn.ok() && turn->taken()) << turn.status();
        const int now = ++inside;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        --inside;
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 6 * 200);
  EXPECT_LE(most, 2);
}

TEST(TurnsTest, ATurnMovesAndIsGivenUpOnce) {
  const auto turns = Turns::Make(1);
  ASSERT_TRUE(turns.ok()) << turns.status();
  Turns::Turn held;
  EXPECT_FALSE(held.taken());
  {
    auto turn = (*turns)->Take(kLong);
    ASSERT_TRUE(turn.ok()) << turn.status();
    held = *std::move(turn);
  }
  EXPECT_TRUE(held.taken());
  held.GiveUp();
  EXPECT_FALSE(held.taken());
  held.GiveUp();
  const auto again = (*turns)->Take(kLong);
  EXPECT_TRUE(again.ok() && again->taken());
}

TEST(TurnsTest, AProcessThatIsKilledGivesUpItsTurn) {
  const auto turns = Turns::Make(1);
  ASSERT_TRUE(turns.ok()) << turns.status();
  const std::string name = (*turns)->name();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto opened = Turns::Open(name);
    if (!opened.ok()) _exit(1);
    const auto turn = (*opened)->Take(kLong);
    if (!turn.ok() || write(ready[1], "x", 1) != 1) _exit(2);
    pause();
    _exit(3);
  }
  close(ready[1]);
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  std::thread killer([&] { kill(child, SIGKILL); });
  const auto turn = (*turns)->Take(kLong);
  EXPECT_TRUE(turn.ok() && turn->taken());
  killer.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(TurnsTest, WhoWaitsTooLongGoesOnWithout) {
  const auto turns = Turns::Make(2);
  ASSERT_TRUE(turns.ok()) << turns.status();
  const auto first = (*turns)->Take(kLong), second = (*turns)->Take(kLong);
  ASSERT_TRUE(first.ok() && first->taken());
  ASSERT_TRUE(second.ok() && second->taken());
  for (const int patience : {0, 20}) {
    const auto none = (*turns)->Take(std::chrono::milliseconds(patience));
    ASSERT_TRUE(none.ok()) << none.status();
    EXPECT_FALSE(none->taken());
  }
}

TEST(TurnsTest, OpenSaysWhatIsWrong) {
  EXPECT_EQ(Turns::Open("/proc/self/fd/no").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Turns::Open("/dev/null").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace flotilla
