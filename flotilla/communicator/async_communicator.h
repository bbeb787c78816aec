// The mode in which nobody waits for anybody: workers hand their gradients to a queue and go on, a
// sender merges and pushes what has gathered there, servers apply on arrival. Rows of the next
// batch are pulled while the current one is computed; dense parameters are renewed in place by the
// answers to the pushes, beside the workers that read them (Hogwild).
//
// Where a machine has more trainers than cores, all of them would be in the middle of a step most
// of the time, and every step would lack those of all the others. They take turns instead
// (AsyncOptions::turns): a worker has one from its pull, which brings the dense parameters along,
// until its push is applied.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "flotilla/base/turns.h"
#include "flotilla/communicator/gradient_sender.h"
#include "flotilla/communicator/server_communicator.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

// How gradients that travel together become one.
enum class MergeRule {
  kByOptimizer,  // the sum where an update is linear in the gradient (sgd, momentum), else the mean
  kSum,
  kAverage,
};

// Beside each option the flag of the tutorials that sets it, and what they set.
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
//   merge_sparse_grad                 1  always so: rows of one id travel once. 0 has no meaning
//                                        here, and whoever reads the flag refuses it
struct AsyncOptions {
  // Gradients of single batches that may wait to be sent; a worker that finds the queue full waits.
  int send_queue_size = 20;
  // Gradients that are merged into one send at most; only what waits already is merged ..
  int max_merge = 4;
  // .. unless pushes take more than this share of the time between gradients: then a send waits for
  // as many as bring the share down to it (GradientSenderOptions) ..
  double cost_share = 0.5;
  // .. or unless this says for how long a send waits for more.
  int64_t merge_wait_ms = 0;
  MergeRule merge_rule = MergeRule::kByOptimizer;
  // Threads that send; each has one push under way.
  int send_threads = 1;
  // The dense parameters are renewed after every so many sends: by the answer to that send, or ..
  int sends_per_refresh = 1;
  // .. by a thread of its own.
  bool independent_receive = false;
  // Pull the rows of a worker's next batch while it computes the current one.
  bool prefetch = true;
  // A worker's batch is computed on rows that lack at most so many of its earlier steps; its pull
  // waits until that holds. 0 means no prefetching, whatever `prefetch` says. Negative: as many as
  // let all trainers together have 16 steps under way, and no bound when sends are made to wait for
  // more gradients (merge_wait_ms).
  int64_t max_staleness = -1;
  // Nothing is sent: parameters stay as they are. Shows what communication costs.
  bool fake_rpc = false;
  // Shared by the trainers of this machine, where they outnumber its cores. Null: none. Not used
  // where max_staleness or merge_wait_ms are set, or with fake_rpc.
  std::shared_ptr<Turns> turns;
};

// Ok, or which option makes no sense.
Status CheckAsyncOptions(const AsyncOptions& options);

class AsyncCommunicator : public ServerCommunicator {
 public:
  // An error says what in the options or in the client's spec is wrong, or which server failed.
  // REQUIRES: the client has met its servers, which apply on arrival, and outlives the
  // communicator.
  static StatusOr<std::unique_ptr<AsyncCommunicator>> Make(PsClient* client,
                                                           const AsyncOptions& options);
  // Drops what was not flushed.
  ~AsyncCommunicator() override;

  Schedule schedule() const override;
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Takes the buffers and returns, unless the queue is full. An error of an earlier send or receive
  // comes back here, and from pulls and Flush.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;
  // What this trainer pushed before is in it.
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override;

 private:
  AsyncCommunicator(PsClient* client, const AsyncOptions& options, UpdateForm form);

  Status DoBeginEpoch(const EpochStart& start) override;
  Status DoFlush() override;

  Status Send(const std::shared_ptr<const Gradients>& gradients, int64_t batches);
  Status HogwildSend(const PushValues& values);
  Status HogwildReceive();
  // Whether this send, or in turns this pull, is to bring the dense parameters along.
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
  const int64_t max_staleness_;  // what the options come to
  std::atomic<int64_t> sends_ = 0;
  std::atomic<bool> refreshing_ = false;  // a send brings dense parameters
  std::mutex receive_mutex_;              // held while dense parameters are pulled

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Turns::Turn> taken_;  // guarded by mutex_; per worker
  // Guarded by mutex_, used with independent_receive only.
  bool receive_wanted_ = false;
  bool stop_ = false;
  Status receive_error_;
  std::thread receiver_;

  GradientSender sender_;  // last: its threads use what stands above
};

}  // namespace flotilla
