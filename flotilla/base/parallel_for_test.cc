#include "flotilla/base/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace flotilla {
namespace {

TEST(ParallelForTest, EveryItemIsWorkedOnOnce) {
  for (const int threads : {1, 2, 7}) {
    for (const uint64_t count : {0, 1, 5, 100}) {
      std::vector<std::atomic<int>> done(count);
      const Status status = ParallelFor(threads, count, [&](uint64_t i) {
        ++done[i];
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok());
      for (const auto& times : done) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ParallelForTest, ErrorEndsTheWorkAndIsReturned) {
  for (const int threads : {1, 3}) {
    std::atomic<int> begun = 0;
    const Status status = ParallelFor(threads, 1000, [&](uint64_t i) -> Status {
      ++begun;
      if (i == 10) return InvalidArgument("item {}", i);
      return absl::OkStatus();
    });
    EXPECT_EQ(Message(status), "item 10");
    EXPECT_GE(begun, 11);
    if (threads == 1) {
      EXPECT_EQ(begun, 11);
    }
  }
}

}  // namespace
}  // namespace flotilla
