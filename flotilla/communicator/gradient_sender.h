// A bounded queue of gradients, and the threads that merge and push them: the path from the workers
// of an async trainer to the servers. The push itself is a callback.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/queue.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/gradient_buffers.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

struct GradientSenderOptions {
  // Capacity of the queue; a worker that finds it full waits.
  int queue_size = 20;
  // Maximum number of gradients per send.
  int max_merge = 4;
  // How long a send waits for more gradients; 0: it takes only those already in the queue.
  int64_t merge_wait_ms = 0;
  // If pushes take more than this share of the time between gradients, a send waits for more of
  // them in any case: as many as bring the share down to it, at most max_merge. The gradient of a
  // small batch is as large as that of a big one, so sending each one could cost more than
  // computing it. 1: never.
  double cost_share = 0.5;
  // Divide a merged send by the number of gradients in it.
  bool average = false;
  // Number of threads that send, each one push at a time.
  int threads = 1;
};

// Thread-safe. The first error of a push is kept: nothing is sent after it, and all later and
// waiting calls return it.
class GradientSender {
 public:
  // Makes one push of `batches` merged gradients and returns when it is applied. Called from the
  // sender's threads.
  using Push = std::function<Status(std::shared_ptr<const Gradients> gradients, int64_t batches)>;

  // Starts the threads. REQUIRES: numbers of options at least 1, merge_wait_ms >= 0.
  GradientSender(const ModelSpec& spec, const GradientSenderOptions& options, Push push);
  // Waits for the pushes in flight; gradients that were not flushed are dropped.
  ~GradientSender();

  // Takes the gradients of one step of a worker, and gives it other buffers in exchange.
  Status Put(int worker, Gradients& gradients);

  // Waits until at most `steps` of the gradients that this worker has put are not applied yet. It
  // waits as long as the pushes take.
  Status WaitUntilBehind(int worker, int64_t steps);
  // Waits until everything that was put before is applied.
  Status Flush();

 private:
  struct Item {
    int worker = 0;
    std::shared_ptr<Gradients> gradients;
  };

  // Measures the duration of a push and the time between gradients, to choose how many gradients a
  // send should contain. Used by one thread.
  struct Pace {
    double push_seconds = 0;      // of a push, smoothed
    double gradient_seconds = 0;  // between two gradients, smoothed
    std::chrono::steady_clock::time_point last_push;

    void Measured(std::chrono::steady_clock::time_point start, size_t items);
  };

  void Loop();
  size_t WantedItems(const Pace& pace) const;
  // Returns up to max_merge items, at least one; none if the queue is closed. Waits a limited time
  // for as many as the pace asks for.
  std::vector<Item> TakeItems(const Pace& pace);
  // Makes one push of them; or, if their sum is larger than a gradient may be (LargestGradient),
  // one of each.
  Status PushAll(const std::vector<Item>& items, GradientMerger* merger);
  std::shared_ptr<const Gradients> Merge(const std::vector<Item>& items, GradientMerger* merger);
  void Finish(std::vector<Item> items, const Status& status);

  // Constant after construction.
  const ModelSpec& spec_;
  const GradientSenderOptions options_;
  const Push push_;

  GradientBuffers buffers_;
  BoundedQueue<Item> queue_;

  Mutex mutex_;
  CondVar applied_;
  std::vector<int64_t> unapplied_ FL_GUARDED_BY(mutex_);  // per worker
  int64_t all_unapplied_ FL_GUARDED_BY(mutex_) = 0;
  Status error_ FL_GUARDED_BY(mutex_);

  std::vector<std::thread> threads_;
};

}  // namespace flotilla
