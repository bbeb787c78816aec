#include "flotilla/base/turns.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace flotilla {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr off_t kFirstByte = 4096;  // offset of the turns' bytes, behind the mapped part
constexpr int kMostTurns = 1 << 20;
// Polling interval: a process that dies releases its turn without waking any waiter.
constexpr milliseconds kLook(50);

// Locks or unlocks `bytes` bytes of a file from `byte` on (0: up to the end). Returns false when
// another owner holds a lock on one of them.
bool Lock(int fd, short type, off_t byte, off_t bytes) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = bytes;
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Sleeps until the word differs from `seen` and a wake-up arrives, or the time has passed.
void Sleep(std::atomic<uint32_t>* word, uint32_t seen, milliseconds time) {
  const timespec limit = {.tv_sec = time.count() / 1000,
                          .tv_nsec = time.count() % 1000 * 1'000'000};
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

}  // namespace

Turns::Turn& Turns::Turn::operator=(Turn&& other) noexcept {
  if (this == &other) return *this;
  GiveUp();
  turns_ = std::exchange(other.turns_, nullptr);
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

void Turns::Turn::GiveUp() {
  if (turns_ != nullptr) std::exchange(turns_, nullptr)->GiveBack(fd_);
}

Turns::Turns(int fd, int count, MappedMemory memory)
    : fd_(fd),
      count_(count),
      memory_(std::move(memory)),
      shared_(reinterpret_cast<Shared*>(memory_.data())),
      name_(fmt::format("/proc/{}/fd/{}", getpid(), fd)) {}

Turns::~Turns() {
  for (const int fd : free_) close(fd);
  close(fd_);
}

StatusOr<std::unique_ptr<Turns>> Turns::Make(int count) {
  FL_CHECK(count >= 1 && count <= kMostTurns);
  const int fd = memfd_create("flotilla turns", MFD_CLOEXEC);
  if (fd < 0) return ResourceExhausted("turns: cannot create a memory file: {}", strerror(errno));
  if (ftruncate(fd, kFirstByte + count) != 0) {
    const int error = errno;
    close(fd);
    return ResourceExhausted("turns: cannot allocate {} bytes: {}", kFirstByte + count,
                             strerror(error));
  }
  return Map(fd, count);
}

StatusOr<std::unique_ptr<Turns>> Turns::Open(const std::string& name) {
  const int fd = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return FailedPrecondition("turns {}: {}", name, strerror(errno));
  struct stat file = {};
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= kFirstByte ||
      file.st_size > kFirstByte + kMostTurns) {
    close(fd);
    return InvalidArgument("turns {}: not a turns file", name);
  }
  return Map(fd, static_cast<int>(file.st_size - kFirstByte));
}

StatusOr<std::unique_ptr<Turns>> Turns::Map(int fd, int count) {
  StatusOr<MappedMemory> memory = MappedMemory::MakeShared(fd, sizeof(Shared));
  if (!memory.ok()) {
    close(fd);
    return Annotate(memory.status(), "turns");
  }
  return std::unique_ptr<Turns>(new Turns(fd, count, *std::move(memory)));
}

StatusOr<int> Turns::FreeDescriptor() {
  MutexLock lock(mutex_);
  if (!free_.empty()) {
    const int fd = free_.back();
    free_.pop_back();
    return fd;
  }
  const int fd = open(name_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return ResourceExhausted("turns {}: {}", name_, strerror(errno));
  return fd;
}

void Turns::KeepDescriptor(int fd) {
  MutexLock lock(mutex_);
  free_.push_back(fd);
}

bool Turns::TryLock(int fd) const {
  for (int turn = 0; turn < count_; ++turn) {
    if (Lock(fd, F_WRLCK, kFirstByte + turn, 1)) return true;
  }
  return false;
}

StatusOr<Turns::Turn> Turns::Take(milliseconds patience) {
  FL_ASSIGN_OR_RETURN(const int fd, FreeDescriptor());
  const auto deadline = steady_clock::now() + patience;
  while (true) {
    // Loaded before TryLock, so that a turn released after TryLock ends the sleep.
    const uint32_t seen = shared_->given_up.load(std::memory_order_acquire);
    if (TryLock(fd)) return Turn(this, fd);
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds(0)) break;
    Sleep(&shared_->given_up, seen, std::min(left, kLook));
  }
  KeepDescriptor(fd);
  return Turn();
}

void Turns::GiveBack(int fd) {
  FL_CHECK(Lock(fd, F_UNLCK, kFirstByte, 0));
  shared_->given_up.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &shared_->given_up, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  KeepDescriptor(fd);
}

}  // namespace flotilla
