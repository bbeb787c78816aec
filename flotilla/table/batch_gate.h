// The lock of a sparse table: batches of work hold it shared, rare structural changes (growing an
// index, starting and ending a cut) hold it exclusively.
//
// std::shared_mutex alone does not suffice: workers that pull continuously can keep a writer
// waiting forever. Here a waiting writer closes the gate to new readers.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace flotilla {

// Usable with std::shared_lock and std::unique_lock, which are handed over with the rows that they
// protect: the analysis of base/mutex.h cannot follow that. Not recursive: a thread that holds it
// shared must not take it again.
class BatchGate {
 public:
  void lock_shared() {
    if (closed_.load(std::memory_order_relaxed)) {
      std::lock_guard until_the_writer_is_done(writers_);
    }
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

  void lock() {
    writers_.lock();
    closed_.store(true, std::memory_order_relaxed);
    mutex_.lock();
  }
  void unlock() {
    mutex_.unlock();
    closed_.store(false, std::memory_order_relaxed);
    writers_.unlock();
  }

 private:
  std::shared_mutex mutex_;
  std::mutex writers_;  // held by the waiting or active writer
  std::atomic<bool> closed_ = false;
};

}  // namespace flotilla
