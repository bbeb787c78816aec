// A communicator stands between the steps of this process and the parameters, wherever they live.
// One subclass is one training mode; the graph, the step and the trainer never know which.
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
// An epoch is BeginEpoch, then pulls and pushes, then Flush. docs/add_mode.md tells how to add a
// mode, docs/threading.md which threads each of them has.
//
// Thread safety: in free modes pulls and pushes may be called from several workers at once, each
// with its own `worker` number; in joined modes pulls may, pushes may not. Everything else is
// called by one thread while no worker is in a call; getters by anyone. BeginSave may run beside
// pulls, and in free modes beside pushes.
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

// How the workers of a trainer go through batches in a mode.
struct Schedule {
  // What is done for the next round while the current one is under way.
  enum class Ahead {
    kNothing,
    kRead,            // its batches are read while the push is under way
    kPullBehindPush,  // .. and their pulls started, which give rows as the push leaves them
    kPull,            // its batch is read and its pull started before the current one is computed
  };

  // Workers meet in rounds, each pushed once. False: each worker runs rounds of one batch by
  // itself.
  bool joined = false;
  // The workers of a round share one batch. False: each has one of its own.
  bool shares_batch = false;
  Ahead ahead = Ahead::kNothing;
};

// Ok, or what is wrong with the spec and where: a name that is empty or used twice, a dimension
// that is not positive, a factor or a schedule that makes no sense.
Status CheckModelSpec(const ModelSpec& spec);

// The index of a dense parameter or a table of this name, or -1.
int FindParameter(const ModelSpec& spec, const std::string& name);
int FindTable(const ModelSpec& spec, const std::string& name);

// A pull or a push under way; one that is done already where parameters live in this process.
// Move-only. Destroyed before Wait has returned, what it fills is unspecified.
class Pending {
 public:
  Pending() = default;  // done
  explicit Pending(std::unique_ptr<PendingCalls> calls) : calls_(std::move(calls)) {}

  // Returns when the rows are filled or the gradients applied, or why not. To be called once.
  Status Wait() { return calls_ == nullptr ? absl::OkStatus() : calls_->Wait(); }

 private:
  std::unique_ptr<PendingCalls> calls_;
};

// Dense parameters that live in this process, for steps that update each of them as soon as its
// gradient can be had, part by part, while both are in the caches. What Push would do for them, in
// advance of it.
class DenseInPlace {
 public:
  virtual ~DenseInPlace() = default;
  // One update of a dense parameter. The Push that follows has Gradients::dense_applied set.
  virtual void Update(int parameter, GradientSource gradient) = 0;
};

// Tables that live in this process, for fused steps such as skip-gram that read and write rows
// where they stand, instead of Pull and Push:
//
//   Begin -> rows changed in place, at the rate that Begin told -> End
//
// What is in between is one step. The step runs the update itself, so it must be plain gradient
// descent (OptimizerSpec "sgd" without decay) on tables made TableOptions::in_order; Begin refuses
// anything else. Rows change under the reader when other workers are at work (Hogwild).
class TablesInPlace {
 public:
  // One worker between Begin and End.
  struct Work {
    std::vector<RowBlock> tables;  // in the order of the spec
    double rate = 0;               // of the schedule at this step; a table's factor is not in it
    std::shared_ptr<void> hold;    // keeps saves out; given up by End, on the same thread
  };

  virtual ~TablesInPlace() = default;

  virtual StatusOr<Work> Begin(int worker) = 0;
  // Counts the step. touched[t] are the ids whose rows of table t were changed, in any order and
  // any number of times; not read unless wants_touched(). The rows may not be used any more.
  virtual Status End(int worker, Work work, std::span<const std::vector<uint32_t>> touched) = 0;
  // Whether somebody else must be told of changes (geo).
  virtual bool wants_touched() const = 0;
};

// What a trainer knows of an epoch before its first batch.
struct EpochStart {
  bool has_batch = true;  // this trainer has at least one batch in it
  int64_t batches = 0;    // batches of this trainer; 0: not known
};

class Communicator : public Keeper {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const ModelSpec& spec() const { return spec_; }
  const DenseLayout& layout() const { return layout_; }

  // The number of this trainer among those of its job; 0 where there is one.
  virtual int trainer() const { return 0; }

  // Constant.
  virtual Schedule schedule() const = 0;

  // Starts to fill rows[t].values (and locations, where the mode has them) for rows[t].ids, for
  // every table. Ids are distinct; `missing` says what becomes of unknown ones. `rows` must stay
  // where they are until Wait of the result has returned. On error their content is unspecified and
  // nothing was trained. REQUIRES: rows.size() == number of tables; a worker has at most one batch
  // that it computes and one that it has started to pull.
  virtual StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) = 0;
  Status Pull(int worker, Missing missing, std::span<SparseRows> rows);

  // Takes the gradients of one step, or the mean of those of so many batches, each of which counts
  // where the mode counts batches: applies, sends or queues them, as the mode says. May exchange
  // the buffers of `gradients` for others of any content. In joined modes dense() is written by
  // Wait of the result, and no worker may compute until then. An error that a background thread met
  // since the last call is returned here.
  virtual StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) = 0;
  Status Push(int worker, Gradients& gradients);

  // Not null where dense parameters live here (local, geo) and workers are free to change them.
  DenseInPlace* dense_in_place() const { return dense_in_place_; }

  // Not null where sparse tables live here (local, geo). In joined modes for one worker at a time.
  TablesInPlace* tables_in_place() const { return tables_in_place_; }

  // The flat block of dense parameters, laid out by layout(). The pointer stays valid for the
  // communicator's life; who writes when is told in the table above.
  virtual std::span<const float> dense() const = 0;

  // Steps applied so far by everyone: the number that schedules count, and Adam's correction but in
  // geo, where that counts the pushes made here.
  virtual int64_t global_step() const = 0;
  // The learning rate of the next step, for reports.
  virtual double learning_rate() const = 0;

  // Begins an epoch: called by every trainer before its first batch, also by one that will have no
  // batch. Sync and geo wait here for all trainers.
  Status BeginEpoch(const EpochStart& start = {});
  // Whether an epoch has begun that Flush has not ended.
  bool in_epoch() const { return in_epoch_; }

  // Renews this process's copy of what others have changed since: before a test that comes after
  // the other trainers' epochs. Between epochs, when no worker is in a call.
  virtual Status Refresh() { return absl::OkStatus(); }

  // Ends an epoch: everything pushed before is applied when it returns, queues are empty, tails are
  // sent. Called by every trainer at the end of each epoch, by one thread, when no worker is in a
  // call. Geo waits here for all trainers.
  Status Flush();

 protected:
  // REQUIRES: CheckModelSpec(spec).ok().
  explicit Communicator(ModelSpec spec, DenseInPlace* dense_in_place = nullptr,
                        TablesInPlace* tables_in_place = nullptr);

  // Load's: the seed of the model that was loaded.
  void set_seed(uint64_t seed) { spec_.seed = seed; }

 private:
  // What BeginEpoch and Flush do in a mode.
  virtual Status DoBeginEpoch(const EpochStart& /*start*/) { return absl::OkStatus(); }
  virtual Status DoFlush() = 0;

  ModelSpec spec_;  // constant but for the seed
  const DenseLayout layout_;
  DenseInPlace* const dense_in_place_;
  TablesInPlace* const tables_in_place_;
  bool in_epoch_ = false;
};

}  // namespace flotilla
