#include "flotilla/base/reused.h"

#include <gtest/gtest.h>

#include <thread>

namespace flotilla {
namespace {

TEST(ReusedTest, AValueThatWasLetGoIsTakenAgainAsItIs) {
  Reused<std::vector<int>> reused;
  auto first = reused.Take();
  auto second = reused.Take();
  EXPECT_NE(first, second);
  *first = {1, 2, 3};
  const std::vector<int>* const place = first.get();
  first.reset();
  const auto again = reused.Take();
  EXPECT_EQ(again.get(), place);
  EXPECT_EQ(*again, (std::vector<int>{1, 2, 3}));
}

TEST(ReusedTest, ValuesMayOutliveTheirSource) {
  std::shared_ptr<std::vector<int>> value;
  {
    Reused<std::vector<int>> reused;
    value = reused.Take();
  }
  value->push_back(1);
  value.reset();
}

TEST(ReusedTest, ThreadsTakeAndLetGoAtOnce) {
  Reused<int> reused;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const auto value = reused.Take();
        *value = i;
        EXPECT_EQ(*value, i) << "nobody else has it";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flotilla
