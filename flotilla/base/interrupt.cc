#include "flotilla/base/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace flotilla {
namespace {

constexpr int kHasCause = -1;

}  // namespace

Interrupt::Interrupt() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { FL_CHECK(fd_ >= 0); }

Interrupt::~Interrupt() { close(fd_); }

void Interrupt::Raise(const Status& cause) {
  MutexLock lock(mutex_);
  if (raised()) return;
  cause_ = cause;
  int none = 0;
  // A signal may have arrived in between; then the signal is the cause.
  if (state_.compare_exchange_strong(none, kHasCause)) Wake();
}

void Interrupt::RaiseSignal(int signal) {
  int none = 0;
  if (state_.compare_exchange_strong(none, signal)) Wake();
}

void Interrupt::Wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));
}

Status Interrupt::status() const {
  const int state = state_.load(std::memory_order_acquire);
  if (state == 0) return absl::OkStatus();
  if (state != kHasCause) {
    return absl::CancelledError(fmt::format("stopped by signal {} ({})", state, strsignal(state)));
  }
  MutexLock lock(mutex_);
  return cause_;
}

Status AwaitReadable(int fd, const Interrupt* interrupt) {
  while (interrupt == nullptr || !interrupt->raised()) {
    // A negative descriptor is passed over by poll.
    pollfd fds[] = {{fd, POLLIN, 0}, {interrupt == nullptr ? -1 : interrupt->fd(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return Internal("poll: {}", std::strerror(errno));
    if (fds[0].revents != 0) return absl::OkStatus();
  }
  return interrupt->status();
}

}  // namespace flotilla
