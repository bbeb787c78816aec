// A bounded queue between threads that can be closed: the only queue class of the project, used
// wherever a stage passes values to the next. Bounded, so that a fast producer waits instead of
// filling memory; closable, so that no thread waits for a peer that has gone. It does not carry
// errors: a stage keeps its own first error and closes the queue.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

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
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return closed_ || values_.size() < capacity_; });
    return Put(std::move(value), std::move(lock));
  }

  // Like Push, but never waits: false also when the queue is full. `value` is moved from only on
  // success.
  bool TryPush(T& value) {
    std::unique_lock lock(mutex_);
    if (values_.size() >= capacity_) return false;
    return Put(std::move(value), std::move(lock));
  }

  // Waits for a value. Empty when the queue is closed and everything pushed before was popped.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return closed_ || !values_.empty(); });
    return Take(std::move(lock));
  }

  // Like Pop, but waits no longer than `deadline`; empty also when the deadline passes (use
  // closed() to distinguish the two cases).
  std::optional<T> PopUntil(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    not_empty_.wait_until(lock, deadline, [this] { return closed_ || !values_.empty(); });
    return Take(std::move(lock));
  }

  // Like Pop, but never waits.
  std::optional<T> TryPop() { return Take(std::unique_lock(mutex_)); }

  // Wakes every waiter; later pushes fail, pops succeed until the queue is empty. Idempotent.
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }
  size_t size() const {
    std::lock_guard lock(mutex_);
    return values_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  bool Put(T&& value, std::unique_lock<std::mutex> lock) {
    if (closed_) return false;
    values_.push_back(std::move(value));
    lock.unlock();
    not_empty_.notify_one();
    return true;
  }

  std::optional<T> Take(std::unique_lock<std::mutex> lock) {
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    lock.unlock();
    not_full_.notify_one();
    return value;
  }

  // Constant after construction.
  const size_t capacity_;

  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  // Guarded by mutex_.
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace flotilla
