// The asynchronous mode, in which trainers do not wait for each other: workers put their gradients
// into a queue and continue, a sender merges and pushes the queued gradients, servers apply them on
// arrival. Rows of the next batch are pulled while the current one is computed; dense parameters
// are refreshed in place by the answers to the pushes, while workers read them (Hogwild).
//
// If a machine has more trainers than cores, all of them would be in the middle of a step most of
// the time, and every step would lack those of all the others. They take turns instead
// (AsyncOptions::turns): a worker holds a turn from its pull, which also brings the dense
// parameters, until its push is applied.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/turns.h"
#include "flotilla/communicator/gradient_sender.h"
#include "flotilla/communicator/server_communicator.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

// How gradients that are sent together are combined.
enum class MergeRule {
  kByOptimizer,  // the sum if an update is linear in the gradient (sgd, momentum), else the mean
  kSum,
  kAverage,
};

// The FLAGS_ variables of the tutorials that set these options, and the values in the tutorials:
//
//   FLAGS_communicator_..         seeds  here
//   max_merge_var_num                20  max_merge
//   send_queue_size                  20  send_queue_size
//   send_wait_times                   5  merge_wait_ms: 10 ms each
//   is_sgd_optimizer                     merge_rule: true kSum, false kAverage
//   thread_pool_size                  5  send_threads
//   min_send_grad_num_before_recv    20  sends_per_refresh
//   independent_recv_thread           1  independent_receive
//   fake_rpc                          0  fake_rpc
//   merge_sparse_grad                 1  always on: rows of one id are merged. 0 has no meaning
//                                        here, and the reader of the variable rejects it
struct AsyncOptions {
  // Maximum number of gradients of single batches in the queue; a worker that finds it full waits.
  int send_queue_size = 20;
  // Maximum number of gradients that are merged into one send. Only gradients that are already
  // waiting are merged, with two exceptions (cost_share and merge_wait_ms).
  int max_merge = 4;
  // If pushes take more than this share of the time between gradients, a send waits for as many
  // gradients as bring the share down to it (GradientSenderOptions).
  double cost_share = 0.5;
  // If above 0, a send waits this long for more gradients.
  int64_t merge_wait_ms = 0;
  MergeRule merge_rule = MergeRule::kByOptimizer;
  // Number of threads that send; each has one push in flight.
  int send_threads = 1;
  // The dense parameters are refreshed after this number of sends, by the answer to the last one.
  int sends_per_refresh = 1;
  // Refresh them by a separate thread instead.
  bool independent_receive = false;
  // Pull the rows of a worker's next batch while it computes the current one.
  bool prefetch = true;
  // Maximum number of a worker's own earlier steps that the rows of its batch may lack; its pull
  // waits until that holds. 0 means no prefetching, whatever the value of `prefetch`. Negative: as
  // many as let all trainers together have 16 steps in flight, and no bound if sends wait for more
  // gradients (merge_wait_ms).
  int64_t max_staleness = -1;
  // Send nothing, so that parameters do not change. For measuring the cost of communication.
  bool fake_rpc = false;
  // Shared by the trainers of this machine if they outnumber its cores. Null: none. Not used if
  // max_staleness or merge_wait_ms is set, or with fake_rpc.
  std::shared_ptr<Turns> turns;
};

// Ok, or an error that names the invalid option.
Status CheckAsyncOptions(const AsyncOptions& options);

class AsyncCommunicator : public ServerCommunicator {
 public:
  // Errors name the invalid option, the invalid part of the client's spec, or the server that
  // failed. REQUIRES: the client is connected to its servers, which apply on arrival, and outlives
  // the communicator.
  static StatusOr<std::unique_ptr<AsyncCommunicator>> Make(PsClient* client,
                                                           const AsyncOptions& options);
  // Drops gradients that were not flushed.
  ~AsyncCommunicator() override;

  Schedule schedule() const override;
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Takes the buffers and returns at once unless the queue is full. An error of an earlier send or
  // receive is returned here, and by pulls and Flush.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;
  StatusOr<Pending> StartSkip(int worker) override;
  // The result includes everything that this trainer pushed before.
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override;

 private:
  AsyncCommunicator(PsClient* client, const AsyncOptions& options, UpdateForm form);

  Status DoBeginEpoch(const EpochStart& start) override;
  Status DoFlush() override;

  Status Send(const std::shared_ptr<const Gradients>& gradients, int64_t batches);
  Status HogwildSend(const PushValues& values);
  Status HogwildReceive();
  // Whether this send (with turns, this pull) must bring the dense parameters.
  bool TakeRefresh();
  void ReceiveLoop();
  void WakeReceiver();
  Status ReceiveError();

  bool prefetches() const { return options_.prefetch && max_staleness_ != 0; }
  // A pull and what follows it, in a turn.
  Status PullInTurn(int worker, std::span<SparseRows> rows);
  Status PushInTurn(int worker, Gradients& gradients);
  void GiveUpTurn(int worker);

  const AsyncOptions options_;
  const bool takes_turns_;
  const int64_t max_staleness_;  // the bound that follows from the options
  std::atomic<int64_t> sends_ = 0;
  std::atomic<bool> refreshing_ = false;  // a send brings dense parameters
  Mutex receive_mutex_;                   // held while dense parameters are pulled

  Mutex mutex_;
  CondVar wake_;
  std::vector<Turns::Turn> taken_ FL_GUARDED_BY(mutex_);  // per worker
  // Used with independent_receive only.
  bool receive_wanted_ FL_GUARDED_BY(mutex_) = false;
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  Status receive_error_ FL_GUARDED_BY(mutex_);
  std::thread receiver_;

  GradientSender sender_;  // last: its threads use the members above
};

}  // namespace flotilla
