#include "flotilla/base/worker_pool.h"

#include <algorithm>

#include "flotilla/base/status.h"

namespace flotilla {

int Cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

WorkerPool::WorkerPool(int workers) {
  FL_CHECK(workers >= 1);
  for (int w = 1; w < workers; ++w) threads_.emplace_back([this, w] { Loop(w); });
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(const std::function<void(int)>& work) {
  {
    MutexLock lock(mutex_);
    work_ = &work;
    running_ = static_cast<int>(threads_.size());
    ++round_;
  }
  start_.notify_all();
  work(0);
  MutexLock lock(mutex_);
  while (running_ > 0) done_.wait(mutex_);
  work_ = nullptr;
}

void WorkerPool::Loop(int worker) {
  int64_t seen = 0;
  while (true) {
    const std::function<void(int)>* work = nullptr;
    {
      MutexLock lock(mutex_);
      while (!stop_ && round_ == seen) start_.wait(mutex_);
      if (stop_) return;
      seen = round_;
      work = work_;
    }
    (*work)(worker);
    MutexLock lock(mutex_);
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace flotilla
