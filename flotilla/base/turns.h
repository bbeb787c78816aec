// A counting semaphore shared by threads of several processes on one machine, for a resource that
// is scarcer than its users: more trainers than cores. One unit of it is called a turn.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"

namespace flotilla {

// Thread-safe. A process that ends in any way releases its turns; nothing is left on disk.
class Turns {
 public:
  // Holds a turn, or none. Any thread may release it; it must not outlive its Turns.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&& other) noexcept { *this = std::move(other); }
    Turn& operator=(Turn&& other) noexcept;
    ~Turn() { GiveUp(); }
    bool taken() const { return turns_ != nullptr; }
    void GiveUp();

   private:
    friend class Turns;
    Turn(Turns* turns, int fd) : turns_(turns), fd_(fd) {}
    Turns* turns_ = nullptr;
    int fd_ = -1;
  };

  // REQUIRES: count >= 1.
  static StatusOr<std::unique_ptr<Turns>> Make(int count);
  // Opens the turns of another process of the same user, which must be alive. They stay usable
  // after it ends.
  static StatusOr<std::unique_ptr<Turns>> Open(const std::string& name);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  int count() const { return count_; }
  // The argument for Open, valid while this object lives.
  const std::string& name() const { return name_; }

  // Waits for a turn. Returns an empty Turn when that takes longer than `patience`: the holders may
  // hang.
  StatusOr<Turn> Take(std::chrono::milliseconds patience);

 private:
  // The state shared by all processes, at the beginning of an in-memory file. It is followed by one
  // byte per turn: the holder of the lock on that byte holds the turn.
  struct Shared {
    std::atomic<uint32_t> given_up;  // counts releases; waiters sleep on it (futex)
  };

  Turns(int fd, int count, MappedMemory memory);
  static StatusOr<std::unique_ptr<Turns>> Map(int fd, int count);
  StatusOr<int> FreeDescriptor();
  // Tries to take a turn without waiting; returns whether it succeeded.
  bool TryLock(int fd) const;
  void GiveBack(int fd);
  void KeepDescriptor(int fd);

  // Constant after construction.
  const int fd_;
  const int count_;
  const MappedMemory memory_;
  Shared* const shared_;  // in memory_
  const std::string name_;

  Mutex mutex_;
  // Locks belong to an open file description, so every held turn needs its own descriptor.
  std::vector<int> free_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
