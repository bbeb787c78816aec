#include "flotilla/base/ticker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace flotilla {
namespace {

using std::chrono::milliseconds;

TEST(TickerTest, CallsUntilTheFunctionHasEnough) {
  std::promise<void> enough;
  std::atomic<int> calls = 0;
  const Ticker ticker(milliseconds(1), [&] {
    if (++calls < 3) return true;
    enough.set_value();  // a second time would throw
    return false;
  });
  enough.get_future().wait();
  EXPECT_EQ(calls, 3);
}

TEST(TickerTest, EndsAtOnceHoweverLongItWouldWait) {
  bool called = false;
  {
    const Ticker ticker(milliseconds(1'000'000), [&] { return called = true; });
  }
  EXPECT_FALSE(called);
}

TEST(TickerTest, ACallHasReturnedWhenTheTickerIsGone) {
  std::promise<void> begun, wanted;
  std::atomic<bool> returned = false;
  std::thread destroyer;
  {
    auto ticker = std::make_unique<Ticker>(milliseconds(1), [&] {
      begun.set_value();
      wanted.get_future().wait();
      returned = true;
      return false;
    });
    begun.get_future().wait();
    destroyer = std::thread([&, gone = std::move(ticker)]() mutable {
      gone.reset();
      EXPECT_TRUE(returned);
    });
  }
  wanted.set_value();
  destroyer.join();
}

}  // namespace
}  // namespace flotilla
