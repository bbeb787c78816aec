#include "flotilla/table/batch_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace flotilla {
namespace {

TEST(BatchGateTest, WritersExcludeEveryone) {
  BatchGate gate;
  int64_t value = 0;  // not atomic: the gate guards it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        if (t % 2 == 0) {
          std::unique_lock alone(gate);
          ++value;
        } else {
          std::shared_lock together(gate);
          EXPECT_GE(value, 0);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 4000);
}

// With glibc's std::shared_mutex alone the writer below may wait forever.
TEST(BatchGateTest, WriterGetsThroughReadersThatOverlapWithoutPause) {
  BatchGate gate;
  std::atomic<bool> stop = false;
  std::atomic<int> reading = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        std::shared_lock hold(gate);
        ++reading;
        // Hand over to another reader before leaving, so that a reader nearly always holds the
        // gate.
        std::this_thread::yield();
        --reading;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    std::unique_lock alone(gate);
    EXPECT_EQ(reading, 0);
  }
  stop = true;
  for (std::thread& thread : readers) thread.join();
}

}  // namespace
}  // namespace flotilla
