#include "flotilla/base/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>

namespace flotilla {
namespace {

TEST(WorkerPoolTest, EveryWorkerRunsOnceInEveryRound) {
  for (int workers : {1, 2, 5}) {
    WorkerPool pool(workers);
    ASSERT_EQ(pool.workers(), workers);
    std::vector<int> counts(workers);
    for (int round = 1; round <= 100; ++round) {
      pool.Run([&](int w) { ++counts[w]; });
      for (int count : counts) ASSERT_EQ(count, round);
    }
  }
}

TEST(WorkerPoolTest, WorkersOfARoundRunAtTheSameTime) {
  WorkerPool pool(3);
  std::atomic<int> arrived = 0;
  pool.Run([&](int) {
    ++arrived;
    while (arrived.load() < 3) std::this_thread::yield();  // returns only if all three are there
  });
  EXPECT_EQ(arrived.load(), 3);
}

}  // namespace
}  // namespace flotilla
