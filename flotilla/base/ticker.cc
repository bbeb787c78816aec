#include "flotilla/base/ticker.h"

#include <utility>

namespace flotilla {

Ticker::Ticker(std::chrono::milliseconds every, std::function<bool()> tick)
    : every_(every), tick_(std::move(tick)), thread_([this] { Loop(); }) {}

Ticker::~Ticker() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Ticker::Loop() {
  MutexLock lock(mutex_);
  while (!wake_.wait_for(mutex_, every_, [this]() FL_REQUIRES(mutex_) { return stop_; })) {
    lock.unlock();
    if (!tick_()) return;
    lock.lock();
  }
}

}  // namespace flotilla
