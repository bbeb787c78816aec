#include "flotilla/base/in_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "flotilla/base/worker_pool.h"

namespace flotilla {
namespace {

TEST(InOrderTest, CommitsRunInTheOrderOfTheTurns) {
  InOrder in_order;
  std::vector<int64_t> committed;  // not guarded: commits never overlap
  std::atomic<int64_t> next = 0;
  WorkerPool(4).Run([&](int) {
    for (int64_t turn = next++; turn < 1000; turn = next++) {
      EXPECT_TRUE(in_order.Run(turn, [&] {
        committed.push_back(turn);
        return absl::OkStatus();
      }));
    }
  });
  std::vector<int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(committed, expected);
  EXPECT_TRUE(in_order.status().ok());
}

TEST(InOrderTest, AfterAnErrorNothingIsCommitted) {
  InOrder in_order;
  std::atomic<int64_t> next = 0, commits = 0;
  WorkerPool(4).Run([&](int) {
    for (int64_t turn = next++; turn < 100; turn = next++) {
      const bool more = in_order.Run(turn, [&]() -> Status {
        ++commits;
        return turn == 10 ? InvalidArgument("turn {}", turn) : absl::OkStatus();
      });
      EXPECT_EQ(more, turn < 10);
      if (!more) return;
    }
  });
  EXPECT_EQ(commits, 11);
  EXPECT_EQ(Message(in_order.status()), "turn 10");
}

TEST(InOrderTest, FailEndsTheWaitForATurnThatDoesNotCome) {
  InOrder in_order;
  WorkerPool(2).Run([&](int worker) {
    if (worker == 0) return in_order.Fail(InvalidArgument("stopped"));
    EXPECT_FALSE(in_order.Run(5, [] { return absl::OkStatus(); }));
  });
  EXPECT_EQ(Message(in_order.status()), "stopped");
}

}  // namespace
}  // namespace flotilla
