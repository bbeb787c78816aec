// Calls a function again and again in a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "flotilla/base/mutex.h"

namespace flotilla {

class Ticker {
 public:
  // Calls `tick` for the first time when `every` has passed, and no more once it has returned
  // false.
  Ticker(std::chrono::milliseconds every, std::function<bool()> tick);
  // Waits for a call to return. Must not be called by `tick`.
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void Loop();

  const std::chrono::milliseconds every_;
  const std::function<bool()> tick_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace flotilla
