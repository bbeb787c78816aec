#include "flotilla/base/stop_signal.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "flotilla/base/status.h"

namespace flotilla {
namespace {

// A signal handler has no other way to reach its object. Lock-free, hence safe in a handler.
std::atomic<int> first_signal = 0;
std::atomic<Interrupt*> interrupt_to_raise = nullptr;
std::atomic<bool> installed = false;
std::atomic<int> handlers = 0;  // that run now, on any thread
static_assert(std::atomic<int>::is_always_lock_free);

void OnSignal(int number) {
  handlers.fetch_add(1);
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number, std::memory_order_relaxed)) {
    const int kept = errno;
    if (Interrupt* const interrupt = interrupt_to_raise) interrupt->RaiseSignal(number);
    errno = kept;
  } else if (number != SIGHUP) {
    _exit(128 + number);
  }
  handlers.fetch_sub(1);
}

}  // namespace

StopSignal::StopSignal(Interrupt* interrupt) {
  FL_CHECK(!installed.exchange(true));
  first_signal = 0;
  interrupt_to_raise = interrupt;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  // On a stack of its own where the thread has one (signal_stack.h).
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  FL_CHECK(sigaction(SIGINT, &action, &former_int_) == 0);
  FL_CHECK(sigaction(SIGTERM, &action, &former_term_) == 0);
  FL_CHECK(sigaction(SIGHUP, nullptr, &former_hup_) == 0);
  if (former_hup_.sa_handler != SIG_IGN) FL_CHECK(sigaction(SIGHUP, &action, nullptr) == 0);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &former_int_, nullptr);
  sigaction(SIGTERM, &former_term_, nullptr);
  sigaction(SIGHUP, &former_hup_, nullptr);
  interrupt_to_raise = nullptr;
  // A handler on another thread may still be raising the interrupt, which is about to end: the task
  // saw the signal before the handler returned.
  while (handlers.load() > 0) std::this_thread::yield();
  installed = false;
}

int StopSignal::signal() const { return first_signal.load(std::memory_order_relaxed); }

}  // namespace flotilla
