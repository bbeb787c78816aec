#include "flotilla/base/parallel_for.h"

#include <algorithm>
#include <atomic>

#include "flotilla/base/first_error.h"
#include "flotilla/base/worker_pool.h"

namespace flotilla {

Status ParallelFor(int threads, uint64_t count, const std::function<Status(uint64_t i)>& work) {
  std::atomic<uint64_t> next = 0;
  FirstError error;
  const int workers =
      static_cast<int>(std::clamp<uint64_t>(count, 1, static_cast<uint64_t>(threads)));
  WorkerPool(workers).Run([&](int) {
    for (uint64_t i = next++; i < count && !error.any(); i = next++) error.Update(work(i));
  });
  return error.status();
}

}  // namespace flotilla
