#include "flotilla/base/parallel_for.h"

#include <algorithm>
#include <atomic>

#include "flotilla/base/mutex.h"
#include "flotilla/base/worker_pool.h"

namespace flotilla {

Status ParallelFor(int threads, uint64_t count, const std::function<Status(uint64_t i)>& work) {
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> failed = false;
  Mutex mutex;
  Status first_error;  // guarded by mutex
  const int workers =
      static_cast<int>(std::clamp<uint64_t>(count, 1, static_cast<uint64_t>(threads)));
  WorkerPool(workers).Run([&](int) {
    for (uint64_t i = next++; i < count && !failed; i = next++) {
      const Status status = work(i);
      if (status.ok()) continue;
      failed = true;
      MutexLock lock(mutex);
      if (first_error.ok()) first_error = status;
    }
  });
  return first_error;
}

}  // namespace flotilla
