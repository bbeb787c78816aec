// A communicator connects the training steps of this process to the parameters, wherever they live.
// Each subclass is one training mode; the graph, the step and the trainer do not depend on the
// mode.
//
//   Batch -> step: ids needed -> Pull -> SparseRows -> step: forward, backward -> Gradients -> Push
//
// How each mode uses it:
//
//   mode        Pull                          Push                               dense()
//   local       rows of the tables here       the calling worker runs the rule   the tables' own
//                                             in place (Hogwild)                 storage, live
//   sync        RPC to the servers            RPC into the round of all          written only in
//                                             trainers; its answer brings dense  Push
//   half-async  RPC                           RPC, no wait for other trainers;   the same
//                                             its answer brings dense
//   async       RPC, started while the batch  hands the gradients to a bounded   refreshed in place
//               before it is computed         queue; a sender merges and sends   by the sender
//   geo         rows of the local copy        the rule on the local copy; every  the local copy,
//                                             so often a thread exchanges        live
//                                             differences with the servers
//
// schedule() tells the trainer how its workers meet: in free modes (local, async, geo) each worker
// pushes its own batches; in joined modes (sync, half-async, and local when deterministic) the
// trainer adds the gradients of a round in worker order and pushes once.
//
// An epoch is BeginEpoch, then pulls and pushes, then Flush. docs/add_mode.md explains how to
// add a mode, docs/threading.md which threads each mode has.
//
// Thread safety: in free modes pulls and pushes may be called from several workers at once, each
// with its own `worker` number; in joined modes pulls may, pushes may not. Everything else is
// called by one thread while no worker is in a call; getters may be called at any time. BeginSave
// may run concurrently with pulls, and in free modes with pushes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/client/call_group.h"
#include "flotilla/communicator/keeper.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradient_source.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/row_block.h"
#include "flotilla/tensor/sparse_rows.h"

namespace flotilla {

// How the workers of a trainer process batches in a mode.
struct Schedule {
  // The work that is done for the next round while the current one is running.
  enum class Ahead {
    kNothing,
    kRead,            // its batches are read during the push
    kPullBehindPush,  // also starts their pulls, whose rows include the push
    kPull,            // its batch is read and its pull started before the current one is computed
  };

  // Workers synchronize in rounds, each pushed once. False: each worker runs rounds of one batch
  // independently.
  bool joined = false;
  // The workers of a round share one batch. False: each has its own batch.
  bool shares_batch = false;
  Ahead ahead = Ahead::kNothing;
};

// Ok, or an error that says what is wrong with the spec and where: a name that is empty or used
// twice, a dimension that is not positive, an invalid factor or schedule.
Status CheckModelSpec(const ModelSpec& spec);

// The index of a dense parameter or a table of this name, or -1.
int FindParameter(const ModelSpec& spec, const std::string& name);
int FindTable(const ModelSpec& spec, const std::string& name);

// A pull or a push in progress; already done if parameters live in this process. Move-only. If it
// is destroyed before Wait has returned, the buffers that it fills are unspecified.
class Pending {
 public:
  Pending() = default;  // done
  explicit Pending(std::unique_ptr<PendingCalls> calls) : calls_(std::move(calls)) {}

  // Returns when the rows are filled or the gradients applied, or with the error. Call it once.
  Status Wait() { return calls_ == nullptr ? absl::OkStatus() : calls_->Wait(); }

 private:
  std::unique_ptr<PendingCalls> calls_;
};

// Dense parameters that live in this process, for steps that update each of them as soon as its
// gradient is available, part by part, while both are in the caches: the work of Push for them,
// done in advance.
class DenseInPlace {
 public:
  virtual ~DenseInPlace() = default;
  // One update of a dense parameter. The Push that follows has Gradients::dense_applied set.
  virtual void Update(int parameter, GradientSource gradient) = 0;
};

// Tables that live in this process, for fused steps such as skip-gram that read and write rows in
// place, instead of Pull and Push:
//
//   Begin -> rows changed in place, at the rate that Begin returned -> End
//
// The work between Begin and End is one step. The step runs the update itself, so it must be plain
// gradient descent (OptimizerSpec "sgd" without decay) on tables made with TableOptions::in_order;
// Begin rejects anything else. Other workers may change rows concurrently (Hogwild).
class TablesInPlace {
 public:
  // One worker between Begin and End.
  struct Work {
    std::vector<RowBlock> tables;  // in the order of the spec
    double rate = 0;               // of the schedule at this step, without the factor of the table
    std::shared_ptr<void> hold;    // blocks saves; released by End, on the same thread
  };

  virtual ~TablesInPlace() = default;

  virtual StatusOr<Work> Begin(int worker) = 0;
  // Counts the step. touched[t] are the ids whose rows of table t were changed, in any order and
  // any number of times; not read unless wants_touched(). The rows may not be used any more.
  virtual Status End(int worker, Work work, std::span<const std::vector<uint32_t>> touched) = 0;
  // Whether End must be told which rows were changed (geo).
  virtual bool wants_touched() const = 0;
};

// Facts about an epoch that a trainer knows before its first batch.
struct EpochStart {
  bool has_batch = true;  // this trainer has at least one batch in it
  int64_t batches = 0;    // batches of this trainer; 0: unknown
};

class Communicator : public Keeper {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const ModelSpec& spec() const { return spec_; }
  const DenseLayout& layout() const { return layout_; }

  // The index of this trainer in its job; 0 if there is only one.
  virtual int trainer() const { return 0; }

  // Constant.
  virtual Schedule schedule() const = 0;

  // Starts to fill rows[t].values (and locations, if the mode has them) for rows[t].ids, for every
  // table. Ids are distinct; `missing` decides how unknown ids are handled. `rows` must not move
  // until Wait of the result has returned. On error their content is unspecified and nothing was
  // trained. REQUIRES: rows.size() == number of tables; a worker has at most one batch
  // that it computes and one that it has started to pull.
  virtual StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) = 0;
  Status Pull(int worker, Missing missing, std::span<SparseRows> rows);

  // Takes the gradients of one step, or the mean of the gradients of `batches` batches, each of
  // which counts as a step in modes that count batches. Applies, sends or queues them, depending on
  // the mode. May exchange the buffers of `gradients` for others of any content. In joined modes
  // dense() is written by Wait of the result, and no worker may compute until then. An error of a
  // background thread since the last call is returned here.
  virtual StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) = 0;
  Status Push(int worker, Gradients& gradients);

  // Takes the place of StartPush if the gradients of a step, or of all batches of a round, cannot
  // be used (trainer/bad_batch.h): nothing changes, and the others do not wait for this worker. In
  // joined modes dense() is written by Wait of the result.
  virtual StatusOr<Pending> StartSkip(int /*worker*/) { return Pending(); }

  // Not null if dense parameters live in this process (local, geo) and workers may change them.
  DenseInPlace* dense_in_place() const { return dense_in_place_; }

  // Not null if sparse tables live in this process (local, geo). In joined modes only one worker at
  // a time may use it.
  TablesInPlace* tables_in_place() const { return tables_in_place_; }

  // The flat block of dense parameters, laid out by layout(). The pointer stays valid for the
  // communicator's life; the table above shows who writes it and when.
  virtual std::span<const float> dense() const = 0;

  // Steps applied so far by all trainers: the count that schedules use. Adam's bias correction uses
  // it too, except in geo, where that counts the pushes made in this process.
  virtual int64_t global_step() const = 0;
  // The learning rate of the next step, for reports.
  virtual double learning_rate() const = 0;

  // Multiplies the learning rates of the schedule, from the next step on, by `factor`, which
  // replaces an earlier one. Between epochs; every trainer calls it with the same factor. An error
  // in modes whose servers run the optimizer.
  virtual Status ScaleLearningRate(double factor);

  // Begins an epoch. Every trainer calls it before its first batch, even if it will have no batch.
  // Sync and geo wait here for all trainers.
  Status BeginEpoch(const EpochStart& start = {});
  // Continues an epoch that Flush has ended in a pause, with the figures of its start. Every
  // trainer calls it, even if it has no batch left.
  Status ContinueEpoch(bool has_batch);
  // Whether an epoch has begun that Flush has not ended.
  bool in_epoch() const { return in_epoch_; }

  // Pauses that all trainers take together, between two of their batches. AskPause asks for pause
  // number `taken` + 1 unless that was done already; pauses_asked() is the number of the last pause
  // that was asked for, as far as this trainer knows. In sync it changes only with a round, for all
  // of its trainers at once. Both are thread-safe.
  // Whether pauses are taken after the same round by all trainers (sync). One that is told to stop
  // continues until the next pause, so that the rounds before it are complete.
  virtual bool pauses_after_rounds() const { return false; }
  virtual Status AskPause(uint64_t taken) = 0;
  virtual uint64_t pauses_asked() const = 0;

  // Refreshes this process's copy of parameters that others have changed; call it before a test
  // that follows the epochs of other trainers. Only between epochs, when no worker is in a call.
  virtual Status Refresh() { return absl::OkStatus(); }

  // Ends an epoch: when it returns, everything pushed before is applied, queues are empty and
  // remaining changes are sent. Called by every trainer at the end of each epoch, by one thread,
  // when no worker is in a call. Geo waits here for all trainers.
  Status Flush();

 protected:
  // REQUIRES: CheckModelSpec(spec).ok().
  explicit Communicator(ModelSpec spec, DenseInPlace* dense_in_place = nullptr,
                        TablesInPlace* tables_in_place = nullptr);

  // For Load: sets the seed of the model that was loaded.
  void set_seed(uint64_t seed) { spec_.seed = seed; }

 private:
  // The implementations of BeginEpoch and Flush in a mode.
  virtual Status DoBeginEpoch(const EpochStart& /*start*/) { return absl::OkStatus(); }
  virtual Status DoFlush() = 0;

  ModelSpec spec_;  // constant except for the seed
  const DenseLayout layout_;
  DenseInPlace* const dense_in_place_;
  TablesInPlace* const tables_in_place_;
  bool in_epoch_ = false;
  EpochStart start_;  // of the last epoch
};

}  // namespace flotilla
