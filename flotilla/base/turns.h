// Turns that threads of several processes of one machine take, where there is less of something
// than there are of them: more trainers than cores.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Thread-safe. A process that ends gives up its turns, however it ends; nothing is left on a disk.
class Turns {
 public:
  // A turn, or none. Any thread may give it up; it must not outlive its Turns.
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
  // The turns of another process of the same user, which must live. They stay usable when it ends.
  static StatusOr<std::unique_ptr<Turns>> Open(const std::string& name);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  int count() const { return count_; }
  // For Open, while this object lives.
  const std::string& name() const { return name_; }

  // Waits for a turn; without one, when that takes longer than `patience`: who has them may hang.
  StatusOr<Turn> Take(std::chrono::milliseconds patience);

 private:
  // What all processes see, at the beginning of a file in memory. One byte for each turn follows:
  // who locks it has the turn.
  struct Shared {
    std::atomic<uint32_t> given_up;  // counts; those who wait sleep on it
  };

  Turns(int fd, int count, Shared* shared);
  static StatusOr<std::unique_ptr<Turns>> Map(int fd);
  StatusOr<int> FreeDescriptor();
  // Whether a turn could be had at once.
  bool TryLock(int fd) const;
  void GiveBack(int fd);
  void KeepDescriptor(int fd);

  // Constant after construction.
  const int fd_;
  const int count_;
  Shared* const shared_;
  const std::string name_;

  std::mutex mutex_;
  // Guarded by mutex_. Locks belong to an open file, so every turn that is taken needs its own.
  std::vector<int> free_;
};

}  // namespace flotilla
