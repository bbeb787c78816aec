#include "flotilla/base/interrupt.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace flotilla {
namespace {

bool Readable(int fd) {
  pollfd each{fd, POLLIN, 0};
  return poll(&each, 1, 0) > 0;
}

TEST(InterruptTest, IsNotRaisedAtFirst) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.raised());
  EXPECT_TRUE(interrupt.status().ok());
  EXPECT_FALSE(Readable(interrupt.fd()));
}

TEST(InterruptTest, KeepsTheFirstCauseAndStaysReadable) {
  Interrupt interrupt;
  interrupt.Raise(absl::UnavailableError("server 0 is gone"));
  interrupt.Raise(absl::InternalError("later"));
  interrupt.RaiseSignal(SIGTERM);
  EXPECT_EQ(interrupt.status(), absl::UnavailableError("server 0 is gone"));
  EXPECT_TRUE(Readable(interrupt.fd()));
  EXPECT_TRUE(Readable(interrupt.fd()));
}

TEST(InterruptTest, ASignalIsCancelledAndNamed) {
  Interrupt interrupt;
  interrupt.RaiseSignal(SIGTERM);
  interrupt.Raise(absl::InternalError("later"));
  EXPECT_EQ(interrupt.status(), absl::CancelledError("stopped by signal 15 (Terminated)"));
  EXPECT_TRUE(Readable(interrupt.fd()));
}

TEST(InterruptTest, AwaitReadableEndsWithBytesOrWithTheCause) {
  Interrupt interrupt;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread raiser([&] { interrupt.Raise(absl::UnavailableError("gone")); });
  EXPECT_EQ(AwaitReadable(ends[0], &interrupt), absl::UnavailableError("gone"));
  raiser.join();
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(AwaitReadable(ends[0], nullptr).ok());
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace flotilla
