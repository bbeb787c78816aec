#include "flotilla/base/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace flotilla {
namespace {

TEST(BoundedQueueTest, ValuesComeOutInTheOrderOfTheirPush) {
  BoundedQueue<int> queue(3);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  EXPECT_TRUE(queue.Push(3));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), 3);
}

TEST(BoundedQueueTest, TryPushRefusesWhenFullAndKeepsTheValue) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.TryPush(first));
  EXPECT_FALSE(queue.TryPush(second));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(BoundedQueueTest, TryPopOfAnEmptyQueueIsEmpty) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
  queue.Push(7);
  EXPECT_EQ(queue.TryPop(), 7);
}

TEST(BoundedQueueTest, PopUntilGivesUpAtItsDeadlineAndTheQueueStaysOpen) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.PopUntil(std::chrono::steady_clock::now()), std::nullopt);
  EXPECT_FALSE(queue.closed());
  queue.Push(5);
  EXPECT_EQ(queue.PopUntil(std::chrono::steady_clock::now()), 5);
}

TEST(BoundedQueueTest, CloseLetsConsumersDrainAndRefusesProducers) {
  BoundedQueue<int> queue(2);
  queue.Push(1);
  queue.Close();
  EXPECT_FALSE(queue.Push(2));
  int value = 3;
  EXPECT_FALSE(queue.TryPush(value));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, CloseWakesAWaitingProducer) {
  BoundedQueue<int> queue(1);
  queue.Push(1);
  bool pushed = true;
  std::thread producer([&] { pushed = queue.Push(2); });
  queue.Close();
  producer.join();
  EXPECT_FALSE(pushed);
}

TEST(BoundedQueueTest, CloseWakesAWaitingConsumer) {
  BoundedQueue<int> queue(1);
  std::optional<int> popped = 1;
  std::thread consumer([&] { popped = queue.Pop(); });
  queue.Close();
  consumer.join();
  EXPECT_EQ(popped, std::nullopt);
}

TEST(BoundedQueueTest, EveryValueOfSeveralProducersReachesExactlyOneConsumer) {
  constexpr int kThreads = 3, kEach = 2000;
  BoundedQueue<int> queue(4);
  std::vector<std::thread> producers, consumers;
  std::vector<std::vector<int>> got(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    producers.emplace_back([&queue, t] {
      for (int i = 0; i < kEach; ++i) queue.Push(t * kEach + i);
    });
    consumers.emplace_back([&queue, &mine = got[t]] {
      while (std::optional<int> value = queue.Pop()) mine.push_back(*value);
    });
  }
  for (std::thread& thread : producers) thread.join();
  queue.Close();
  for (std::thread& thread : consumers) thread.join();
  std::vector<int> all;
  for (const std::vector<int>& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<size_t>(kThreads * kEach));
  for (int i = 0; i < kThreads * kEach; ++i) ASSERT_EQ(all[i], i);
}

}  // namespace
}  // namespace flotilla
