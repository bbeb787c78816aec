#include "flotilla/base/signal_stack.h"

#include <signal.h>

#include <cstddef>
#include <memory>

#include "flotilla/base/status.h"

namespace flotilla {
namespace {

// The kernel writes the vector registers there too, 3 KB with AVX-512 and 11 KB with AMX.
constexpr size_t kStackBytes = 64 << 10;

class SignalStack {
 public:
  SignalStack() {
    stack_t present = {};
    FL_CHECK(sigaltstack(nullptr, &present) == 0);
    if ((present.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(kStackBytes);
    const stack_t stack = {.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kStackBytes};
    FL_CHECK(sigaltstack(&stack, nullptr) == 0);
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

void UseSignalStack() { thread_local const SignalStack stack; }

}  // namespace flotilla
