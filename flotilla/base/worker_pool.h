// A fixed set of threads that run the same function together: the worker threads of a trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla {

// Number of cores of the machine, at least 1.
int Cores();

class WorkerPool {
 public:
  // Starts workers - 1 threads; the caller of Run is worker 0. REQUIRES: workers >= 1.
  explicit WorkerPool(int workers);
  // Joins the threads. REQUIRES: no Run is in progress.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls work(w) for every w in [0, workers()), each on its own thread, and returns when all have
  // returned. Their writes are visible to the caller. Only one Run at a time.
  void Run(const std::function<void(int worker)>& work);

 private:
  void Loop(int worker);

  Mutex mutex_;
  CondVar start_;
  CondVar done_;
  const std::function<void(int)>* work_ FL_GUARDED_BY(mutex_) = nullptr;
  int64_t round_ FL_GUARDED_BY(mutex_) = 0;
  int running_ FL_GUARDED_BY(mutex_) = 0;
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace flotilla
