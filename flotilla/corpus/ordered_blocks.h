// Processes the blocks of a text on many threads and consumes the results in the order of the
// blocks, so that the corpus tools use all cores and still write the same bytes for any number of
// threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/dataset/text_blocks.h"

namespace flotilla {

// Calls work(worker, block, &result) on all workers of the pool at once, and take(block, result)
// for one block at a time, in order; both return a Status. A worker reuses its result object for
// its later blocks. The first error ends the processing: among the blocks whose turn had come, that
// of the earliest block. A worker waits for its turn until the blocks before its own are done.
template <class Result, class Work, class Take>
Status ProcessInOrder(TextBlocks& blocks, WorkerPool& pool, Work work, Take take) {
  std::mutex mutex;
  std::condition_variable turn_changed;
  int64_t turn = 0;  // guarded by mutex, as is `error`
  Status error;
  const auto fail = [&](const Status& status) {
    std::lock_guard lock(mutex);
    if (error.ok()) error = status;
    turn_changed.notify_all();
  };
  // Returns false when there is nothing left to do.
  const auto run_one = [&](int w, TextBlock* block, Result* result) -> StatusOr<bool> {
    FL_ASSIGN_OR_RETURN(const bool any, blocks.Next(block));
    if (!any) return false;
    const Status worked = work(w, *block, result);
    std::unique_lock lock(mutex);
    turn_changed.wait(lock, [&] { return turn == block->ordinal || !error.ok(); });
    if (!error.ok()) return false;
    FL_RETURN_IF_ERROR(worked);
    // Holding the turn acts as a lock: no other worker calls take meanwhile.
    lock.unlock();
    FL_RETURN_IF_ERROR(take(*block, *result));
    lock.lock();
    ++turn;
    turn_changed.notify_all();
    return true;
  };
  pool.Run([&](int w) {
    TextBlock block;
    Result result;
    while (true) {
      const StatusOr<bool> more = run_one(w, &block, &result);
      if (!more.ok()) fail(more.status());
      if (!more.ok() || !*more) return;
    }
  });
  return error;
}

}  // namespace flotilla
