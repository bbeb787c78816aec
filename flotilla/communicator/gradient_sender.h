// A bounded queue of gradients and the threads that merge what waits in it and push it: the way
// from the workers of an async trainer to the servers. It does not know how a push is made.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "flotilla/base/queue.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/gradient_buffers.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

struct GradientSenderOptions {
  // Gradients that may wait; a worker that finds the queue full waits too.
  int queue_size = 20;
  // Gradients that one send carries at most.
  int max_merge = 4;
  // How long a send waits for more gradients than there are; 0: it takes what waits already.
  int64_t merge_wait_ms = 0;
  // Where the pushes take more than this share of the time between gradients, a send waits for more
  // of them all the same: as many as bring the share down to it, max_merge at most. The gradient of
  // a small batch is as large as that of a big one, so that sending each would cost more than
  // computing it. 1: never.
  double cost_share = 0.5;
  // Divide a merged send by the number of gradients in it.
  bool average = false;
  // Threads that send, each one push at a time.
  int threads = 1;
};

// Thread-safe. The first error of a push is kept: nothing is sent after it, and every later call,
// and every one that waits, returns it.
class GradientSender {
 public:
  // Makes one push of `batches` merged gradients and returns when it is applied. Called from the
  // sender's threads.
  using Push = std::function<Status(std::shared_ptr<const Gradients> gradients, int64_t batches)>;

  // Starts the threads. REQUIRES: numbers of options at least 1, merge_wait_ms >= 0.
  GradientSender(const ModelSpec& spec, const GradientSenderOptions& options, Push push);
  // Waits for the pushes under way; what was not flushed before is dropped.
  ~GradientSender();

  // Takes the gradients of one step of a worker, and gives it other buffers in exchange.
  Status Put(int worker, Gradients& gradients);

  // Waits until at most `steps` of what this worker put are not applied yet. As long as the pushes.
  Status WaitUntilBehind(int worker, int64_t steps);
  // Waits until everything that was put before is applied.
  Status Flush();

 private:
  struct Item {
    int worker = 0;
    std::shared_ptr<Gradients> gradients;
  };

  // What a push takes and how often gradients come, to know how many a send should carry. Used by
  // one thread.
  struct Pace {
    double push_seconds = 0;      // of a push, and ..
    double gradient_seconds = 0;  // .. from one gradient to the next, both smoothed
    std::chrono::steady_clock::time_point last_push;

    void Measured(std::chrono::steady_clock::time_point start, size_t items);
  };

  void Loop();
  size_t WantedItems(const Pace& pace) const;
  // Up to max_merge items, at least one; none when the queue is closed. Waits a while for as many
  // as the pace wants.
  std::vector<Item> TakeItems(const Pace& pace);
  std::shared_ptr<const Gradients> Merge(const std::vector<Item>& items, GradientMerger* merger);
  void Finish(const std::vector<Item>& items, const Status& status);

  // Constant after construction.
  const ModelSpec& spec_;
  const GradientSenderOptions options_;
  const Push push_;

  GradientBuffers buffers_;
  BoundedQueue<Item> queue_;

  std::mutex mutex_;
  std::condition_variable applied_;
  // Guarded by mutex_.
  std::vector<int64_t> unapplied_;  // per worker
  int64_t all_unapplied_ = 0;
  Status error_;

  std::vector<std::thread> threads_;
};

}  // namespace flotilla
