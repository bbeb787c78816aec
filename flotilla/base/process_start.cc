#include "flotilla/base/process_start.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

#include "absl/synchronization/mutex.h"

namespace flotilla {
namespace {

std::array<char, 64> program_name = {};
std::terminate_handler former_terminate = nullptr;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// The process's memory, in GiB.
struct MemoryUse {
  double mapped = 0;
  double resident = 0;
};

// Must not allocate, like all code that runs after a failed allocation.
MemoryUse ReadMemoryUse() {
  std::array<char, 128> text = {};
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t got = read(file, text.data(), text.size() - 1);
  close(file);
  unsigned long long mapped = 0, resident = 0;
  if (got <= 0 || std::sscanf(text.data(), "%llu %llu", &mapped, &resident) != 2) return {};
  const double page = static_cast<double>(sysconf(_SC_PAGESIZE)) / kGiB;
  return {static_cast<double>(mapped) * page, static_cast<double>(resident) * page};
}

[[noreturn]] void EndOutOfMemory() {
  static std::atomic<bool> ending = false;
  // When several threads fail at the same time, one prints the message; the others must not
  // continue.
  while (ending.exchange(true)) pause();
  const MemoryUse use = ReadMemoryUse();
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<double>(sysconf(_SC_PAGESIZE)) / kGiB;
  std::array<char, 64> limit = {};
  rlimit address_space = {};
  if (getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY) {
    std::snprintf(limit.data(), limit.size(), ", `ulimit -v` allows %.2f GiB",
                  static_cast<double>(address_space.rlim_cur) / kGiB);
  }
  std::array<char, 640> line = {};
  const int length = std::snprintf(
      line.data(), line.size(),
      "%s: out of memory: an allocation failed; this process has %.2f GiB in memory and %.2f GiB "
      "of addresses%s; the machine has %.1f GiB. Use smaller tables (--hash_dim) or batches "
      "(--batch_size), stream the data (--no_in_memory), or spread the tables over servers\n",
      program_name.data(), use.resident, use.mapped, limit.data(), machine);
  const size_t size = std::min(line.size() - 1, static_cast<size_t>(std::max(length, 0)));
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), size);
  // Destructors may allocate, and other threads still use the objects that they destroy.
  _exit(1);
}

// Sizes beyond any address space are reported by exceptions, without an allocation attempt.
[[noreturn]] void EndByException() {
  if (const std::exception_ptr current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::bad_alloc&) {
      EndOutOfMemory();
    } catch (const std::length_error&) {
      EndOutOfMemory();
    } catch (...) {
    }
  }
  if (former_terminate != nullptr) former_terminate();
  std::abort();
}

}  // namespace

void PrepareProcess(std::string_view program) {
  const size_t length = std::min(program.size(), program_name.size() - 1);
  *std::copy_n(program.data(), length, program_name.data()) = '\0';
  std::set_new_handler(EndOutOfMemory);
  if (const std::terminate_handler former = std::set_terminate(EndByException);
      former != EndByException) {
    former_terminate = former;
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace flotilla
