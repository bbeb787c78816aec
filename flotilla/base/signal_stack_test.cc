#include "flotilla/base/signal_stack.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "flotilla/base/stop_signal.h"

namespace flotilla {
namespace {

std::atomic<uintptr_t> place_of_handler = 0;

void NotePlace(int /*number*/) {
  char here = 0;
  place_of_handler = reinterpret_cast<uintptr_t>(&here);
}

TEST(SignalStackTest, HandlersRunOnTheStackOfTheirOwn) {
  struct sigaction action = {}, former = {};
  action.sa_handler = NotePlace;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &former);
  std::thread([] {
    UseSignalStack();
    UseSignalStack();  // once is enough
    stack_t stack = {};
    ASSERT_EQ(sigaltstack(nullptr, &stack), 0);
    ASSERT_EQ(stack.ss_flags & SS_DISABLE, 0);
    raise(SIGUSR1);
    const auto begin = reinterpret_cast<uintptr_t>(stack.ss_sp);
    EXPECT_GE(place_of_handler, begin);
    EXPECT_LT(place_of_handler, begin + stack.ss_size);
  }).join();
  sigaction(SIGUSR1, &former, nullptr);
}

TEST(SignalStackTest, StopSignalsUseIt) {
  const StopSignal stop;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action = {};
    ASSERT_EQ(sigaction(number, nullptr, &action), 0);
    EXPECT_NE(action.sa_flags & SA_ONSTACK, 0) << number;
  }
}

}  // namespace
}  // namespace flotilla
