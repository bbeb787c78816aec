// Processes the blocks of a text on many threads and consumes the results in the order of the
// blocks, so that the corpus tools use all cores and still write the same bytes for any number of
// threads.
#pragma once

#include "flotilla/base/in_order.h"
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
  InOrder in_order;
  pool.Run([&](int w) {
    TextBlock block;
    Result result;
    bool more = true;
    while (more) {
      const StatusOr<bool> any = blocks.Next(&block);
      if (!any.ok()) in_order.Fail(any.status());
      if (!any.ok() || !*any) return;
      const Status worked = work(w, block, &result);
      more =
          in_order.Run(block.ordinal, [&] { return worked.ok() ? take(block, result) : worked; });
    }
  });
  return in_order.status();
}

}  // namespace flotilla
