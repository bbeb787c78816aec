// Reads an epoch of a dataset on several threads, for callers that only want its rows.
#pragma once

#include <functional>
#include <vector>

#include "flotilla/base/worker_pool.h"
#include "flotilla/dataset/dataset.h"

namespace flotilla {

// Calls on_batch for the batches of epoch 0, on `threads` workers at once. Returns the first error
// of the lowest worker that has one; a worker ends with its first error. REQUIRES: threads >= 1.
inline Status ReadEachBatch(Dataset& dataset, int threads,
                            const std::function<Status(int worker, const Batch& batch)>& on_batch) {
  FL_RETURN_IF_ERROR(dataset.StartEpoch(0));
  std::vector<Status> results(threads);
  WorkerPool(threads).Run([&](int worker) {
    Batch batch;
    while (results[worker].ok()) {
      const StatusOr<bool> more = dataset.Next(worker, &batch);
      if (more.ok() && !*more) return;
      results[worker] = more.ok() ? on_batch(worker, batch) : more.status();
    }
  });
  for (const Status& result : results) FL_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

}  // namespace flotilla
