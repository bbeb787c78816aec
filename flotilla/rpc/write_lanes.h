// Who of those that share a connection may write something large. Streams of one connection take
// turns chunk by chunk, so four large requests would all arrive at the end, and whoever reads them
// would have nothing to do until then: one after the other is no slower for the last, and the
// others are earlier.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace flotilla {

// Thread-safe. A lane is known by its key.
template <typename Key>
class WriteLanes {
 public:
  // True: the caller may write, and calls Leave when it has. False: `start` is called when those
  // before it have left, by the one that leaves; then it is its turn to leave.
  bool Enter(const Key& key, std::function<void()> start) {
    std::lock_guard lock(mutex_);
    const auto [lane, first] = lanes_.try_emplace(key);
    if (!first) lane->second.push_back(std::move(start));
    return first;
  }

  // REQUIRES: it is the caller's turn.
  void Leave(const Key& key) {
    std::function<void()> start;
    {
      std::lock_guard lock(mutex_);
      const auto lane = lanes_.find(key);
      if (lane->second.empty()) {
        lanes_.erase(lane);
        return;
      }
      start = std::move(lane->second.front());
      lane->second.pop_front();
    }
    start();
  }

 private:
  std::mutex mutex_;
  // Lanes in which somebody writes, and those who wait. Guarded by mutex_.
  std::map<Key, std::deque<std::function<void()>>> lanes_;
};

}  // namespace flotilla
