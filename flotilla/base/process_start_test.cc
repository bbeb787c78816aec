#include "flotilla/base/process_start.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace flotilla {
namespace {

// Sanitizers replace operator new, and with it the handler.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnNew = false;
#else
constexpr bool kOwnNew = true;
#endif

// Keeps the compiler from noticing that the memory is unused.
void Allocate(size_t bytes) {
  std::vector<char> memory(bytes);
  std::fprintf(stderr, "got %p\n", static_cast<void*>(memory.data()));
}

void AllocateMoreThanAllowed() {
  PrepareProcess("program");
  const rlimit limit = {uint64_t{4} << 30, uint64_t{4} << 30};
  setrlimit(RLIMIT_AS, &limit);
  Allocate(size_t{5} << 30);
}

// noexcept, so that no exception leaves the function: a death test would catch it.
void AllocateMoreThanThereCanBe() noexcept {
  PrepareProcess("program");
  Allocate(SIZE_MAX);
}

void LockInTwoOrders() {
  PrepareProcess("program");
  absl::Mutex a, b;
  a.Lock();
  b.Lock();
  b.Unlock();
  a.Unlock();
  b.Lock();
  a.Lock();
  a.Unlock();
  b.Unlock();
  std::exit(0);
}

TEST(ProcessStartTest, AnAllocationThatFailsEndsWithOneLineAndExitCode1) {
  if (!kOwnNew) GTEST_SKIP() << "skipped: sanitizers allocate by themselves";
  EXPECT_EXIT(
      AllocateMoreThanAllowed(), testing::ExitedWithCode(1),
      "^program: out of memory: an allocation failed; this process has [0-9.]+ GiB in memory and "
      "[0-9.]+ GiB of addresses, `ulimit -v` allows 4.00 GiB; the machine has [0-9.]+ GiB\\. Use "
      "[^\n]*\n$");
}

TEST(ProcessStartTest, ASizeThatNoMachineHoldsEndsTheSameWay) {
  if (!kOwnNew) GTEST_SKIP() << "skipped: sanitizers allocate by themselves";
  EXPECT_EXIT(AllocateMoreThanThereCanBe(), testing::ExitedWithCode(1),
              "^program: out of memory: [^\n]*\n$");
}

TEST(ProcessStartTest, MutexesTakenInTwoOrdersDoNotAbort) {
  EXPECT_EXIT(LockInTwoOrders(), testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace flotilla
