#include "flotilla/trainer/pause_point.h"

namespace flotilla {

void PausePoint::Start(int workers) {
  MutexLock lock(mutex_);
  requested_ = false;
  present_ = workers;
  waiting_ = 0;
}

Status PausePoint::Arrive(const std::function<Status()>& work) {
  if (!requested_.load(std::memory_order_relaxed)) return absl::OkStatus();
  MutexLock lock(mutex_);
  if (!requested_) return absl::OkStatus();  // the pause ended just now
  if (++waiting_ == present_) return Finish(work);
  const int before = finished_;
  while (finished_ == before) done_.wait(mutex_);
  return result_;
}

Status PausePoint::Leave(const std::function<Status()>& work) {
  MutexLock lock(mutex_);
  --present_;
  if (waiting_ > 0 && waiting_ == present_) return Finish(work);
  return absl::OkStatus();
}

Status PausePoint::Finish(const std::function<Status()>& work) {
  result_ = work();
  waiting_ = 0;
  requested_ = false;
  ++finished_;
  done_.notify_all();
  return result_;
}

}  // namespace flotilla
