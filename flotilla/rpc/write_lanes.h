// Serializes large writes over a shared connection. Streams of one connection take turns chunk by
// chunk, so four concurrent large requests would all be complete only at the end, and their reader
// would have nothing to do until then. One after the other is no slower for the last, and the
// others are complete earlier.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "flotilla/base/mutex.h"

namespace flotilla {

// Thread-safe. A lane is identified by its key.
template <typename Key>
class WriteLanes {
 public:
  // True: the caller may write, and must call Leave afterwards. False: the caller must wait;
  // `start` is called by the last writer before it when that leaves, and must be followed by Leave
  // too.
  bool Enter(const Key& key, std::function<void()> start) {
    MutexLock lock(mutex_);
    const auto [lane, first] = lanes_.try_emplace(key);
    if (!first) lane->second.push_back(std::move(start));
    return first;
  }

  // REQUIRES: the caller holds the lane.
  void Leave(const Key& key) {
    std::function<void()> start;
    {
      MutexLock lock(mutex_);
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
  Mutex mutex_;
  // Lanes with an active writer, and the waiting writers.
  std::map<Key, std::deque<std::function<void()>>> lanes_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
