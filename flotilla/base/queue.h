// A bounded queue between threads that can be closed: the only queue class of the project, used
// wherever a stage passes values to the next. Bounded, so that a fast producer waits instead of
// filling memory; closable, so that no thread waits for a peer that has gone. It does not carry
// errors: a stage keeps its own first error and closes the queue.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "flotilla/base/mutex.h"

namespace flotilla {

// Thread-safe for any number of producers and consumers. First in, first out.
template <typename T>
class BoundedQueue {
 public:
  // REQUIRES: capacity >= 1.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits until there is room. Returns false and drops the value when the queue is closed or gets
  // closed while waiting.
  bool Push(T value) {
    mutex_.lock();
    while (!closed_ && values_.size() >= capacity_) not_full_.wait(mutex_);
    return Put(std::move(value));
  }

  // Like Push, but never waits: false also when the queue is full. `value` is moved from only on
  // success.
  bool TryPush(T& value) {
    mutex_.lock();
    if (values_.size() < capacity_) return Put(std::move(value));
    mutex_.unlock();
    return false;
  }

  // Waits for a value. Empty when the queue is closed and everything pushed before was popped.
  std::optional<T> Pop() {
    mutex_.lock();
    while (!closed_ && values_.empty()) not_empty_.wait(mutex_);
    return Take();
  }

  // Like Pop, but waits no longer than `deadline`; empty also when the deadline passes (use
  // closed() to distinguish the two cases).
  std::optional<T> PopUntil(std::chrono::steady_clock::time_point deadline) {
    mutex_.lock();
    not_empty_.wait_until(mutex_, deadline,
                          [this]() FL_REQUIRES(mutex_) { return closed_ || !values_.empty(); });
    return Take();
  }

  // Like Pop, but never waits.
  std::optional<T> TryPop() {
    mutex_.lock();
    return Take();
  }

  // Wakes every waiter; later pushes fail, pops succeed until the queue is empty. Idempotent.
  void Close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  bool closed() const {
    MutexLock lock(mutex_);
    return closed_;
  }
  size_t size() const {
    MutexLock lock(mutex_);
    return values_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  // Put and Take release the mutex before they notify: the thread that wakes needs it.
  bool Put(T&& value) FL_RELEASE(mutex_) {
    const bool open = !closed_;
    if (open) values_.push_back(std::move(value));
    mutex_.unlock();
    if (open) not_empty_.notify_one();
    return open;
  }

  std::optional<T> Take() FL_RELEASE(mutex_) {
    std::optional<T> value;
    if (!values_.empty()) {
      value.emplace(std::move(values_.front()));
      values_.pop_front();
    }
    mutex_.unlock();
    if (value) not_full_.notify_one();
    return value;
  }

  // Constant after construction.
  const size_t capacity_;

  mutable Mutex mutex_;
  CondVar not_empty_;
  CondVar not_full_;
  std::deque<T> values_ FL_GUARDED_BY(mutex_);
  bool closed_ FL_GUARDED_BY(mutex_) = false;
};

}  // namespace flotilla
