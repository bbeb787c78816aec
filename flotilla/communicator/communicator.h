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
// workers() tells the trainer how its workers meet: in kFree modes (local, async, geo) each worker
// pushes its own batches; in kJoined modes (sync, half-async, and local when deterministic) the
// trainer adds the gradients of a round in worker order and pushes once. A round is one batch that
// the workers share, or, with round_push(), one batch of each worker.
//
// An epoch is BeginEpoch, then pulls and pushes, then Flush. docs/add_mode.md tells how to add a
// mode, docs/threading.md which threads each of them has.
//
// Thread safety: in kFree modes pulls and pushes may be called from several workers at once, each
// with its own `worker` number; in kJoined modes Pull may, Push may not. Everything else is called
// by one thread while no worker is in a call; getters by anyone. BeginSave may run beside Pull, and
// in kFree modes beside Push.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradient_source.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/row_block.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

enum class WorkerSchedule { kFree, kJoined };

// Ok, or what is wrong with the spec and where: a name that is empty or used twice, a dimension
// that is not positive, a factor or a schedule that makes no sense.
Status CheckModelSpec(const ModelSpec& spec);

// The index of a dense parameter or a table of this name, or -1.
int FindParameter(const ModelSpec& spec, const std::string& name);
int FindTable(const ModelSpec& spec, const std::string& name);

// A pull or a push under way. Destroyed before Wait has returned, what it fills is unspecified.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  // Returns when the rows are filled or the gradients applied, or why not. To be called once.
  virtual Status Wait() = 0;
};

// Push in two parts, where it is a call to servers and workers are joined (sync, half-async): the
// trainer prepares its next round while the servers apply this one.
class RoundPush {
 public:
  virtual ~RoundPush() = default;
  // Starts what Push does. `mean` is the mean of the gradients of so many batches, each of which
  // counts where the mode counts batches. dense() is written by Wait of the result; until then no
  // worker may compute.
  virtual StatusOr<std::unique_ptr<PendingCall>> Start(Gradients& mean, int batches) = 0;
  // Whether StartPull may be called while a push is under way, and gives rows as that leaves them.
  virtual bool pulls_behind_push() const = 0;
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

// What of a model a save has.
struct SaveContents {
  // What going on with training needs: the optimizer's state and what tables keep of their rows.
  bool optimizer_state = true;
  // Parameters and tables by name; without a value all of them.
  std::optional<std::vector<std::string>> names;
};

// A model as it was when BeginSave was called, until it is destroyed. The communicator outlives it.
class PendingSave {
 public:
  virtual ~PendingSave() = default;

  // Of the moment that is saved.
  virtual int64_t global_step() const = 0;

  // Writes the model directory `dir`, with the sections beside it, in the place of one that is
  // there: whole or not at all (docs/checkpoint_format.md). From any thread, while training goes
  // on; once. An error names the file and the cause, and leaves the old model as it was.
  virtual Status Write(const std::string& dir, const Sections& sections) = 0;
};

struct LoadOptions {
  // Parameters and tables that only the model has keep their first values, those that only the
  // directory has are left out. Otherwise both are errors.
  bool allow_missing = false;
  // Go on with the training that was saved: optimizer state, global step. Otherwise only weights
  // are loaded and training starts at step 0; so it does from a model that a GEO job saved, which
  // has no state (LoadedModel::fresh_optimizer). An error when the model was saved for inference or
  // learned by another optimizer.
  bool optimizer_state = true;
  // Threads that verify and load. 0: one per core.
  int threads = 0;
};

// What Load found.
struct LoadedModel {
  int64_t step = 0;  // the global step of the model that was saved
  uint64_t seed = 0;
  Sections sections;
  std::vector<std::string> missing;   // names that only the model has
  std::vector<std::string> left_out;  // names that only the directory has
  // LoadOptions asked for the optimizer's state and the model has none: kFreshOptimizer tells it.
  bool fresh_optimizer = false;
};

inline constexpr char kFreshOptimizer[] =
    "the model has no optimizer state (a GEO job saved it, whose trainers keep it): its weights "
    "are "
    "loaded, the optimizer starts afresh at step 0";

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

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const ModelSpec& spec() const { return spec_; }
  const DenseLayout& layout() const { return layout_; }

  // The number of this trainer among those of its job; 0 where there is one.
  virtual int trainer() const { return 0; }

  virtual WorkerSchedule workers() const = 0;
  // Fills rows[t].values (and locations, where the mode has them) for rows[t].ids, for every table.
  // Ids are distinct; `missing` says what becomes of unknown ones. On error the content of rows is
  // unspecified and nothing was trained.
  // REQUIRES: rows.size() == number of tables.
  virtual Status Pull(int worker, Missing missing, std::span<SparseRows> rows) = 0;

  // Whether pulls take long enough that a worker should start the one for its next batch before it
  // computes the current one, with StartPull. Constant; only in kFree modes.
  virtual bool prefetches() const { return false; }
  // Pull in two parts: `rows` must stay where they are until Wait of the result has returned. Modes
  // that neither prefetch nor pull behind a push (RoundPush) pull at once.
  // REQUIRES: a worker has at most one batch that it computes and one that it has started to pull.
  virtual StatusOr<std::unique_ptr<PendingCall>> StartPull(int worker, Missing missing,
                                                           std::span<SparseRows> rows);

  // Takes the gradients of one step: applies, sends or queues them, as the mode says. May exchange
  // the buffers of `gradients` for others of any content. An error that a background thread met
  // since the last call is returned here.
  virtual Status Push(int worker, Gradients& gradients) = 0;

  // Not null in kJoined modes with servers.
  virtual RoundPush* round_push() { return nullptr; }

  // Not null where dense parameters live here (local, geo) and workers are free to change them.
  DenseInPlace* dense_in_place() const { return dense_in_place_; }

  // Not null where sparse tables live here (local, geo). In kJoined modes for one worker at a time.
  TablesInPlace* tables_in_place() const { return tables_in_place_; }

  // The flat block of dense parameters, laid out by layout(). The pointer stays valid for the
  // communicator's life; who writes when is told in the table above.
  virtual std::span<const float> dense() const = 0;

  // Steps applied so far by everyone: the number that schedules count, and Adam's correction but in
  // geo, where that counts the pushes made here.
  virtual int64_t global_step() const = 0;
  // The learning rate of the next step, for reports.
  virtual double learning_rate() const = 0;

  // One parameter by its name: a dense parameter as its shape, a table as (live rows, dim) in
  // ascending order of ids. Between epochs or from one thread only.
  virtual StatusOr<Tensor> ReadParameter(const std::string& name) = 0;
  // REQUIRES: a dense parameter with as many elements as `values`, else an error.
  virtual Status WriteParameter(const std::string& name, std::span<const float> values) = 0;
  // Sets rows of a table to the given weights and fresh optimizer state.
  virtual Status WriteRows(const std::string& table, const SparseRows& rows) = 0;

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

  // Marks this moment for a save: copies dense parameters, begins the cuts of tables. Short; what
  // is consistent with what is told in docs/checkpoint_format.md, "What a save holds". Errors: a
  // name that the model has not; a table of which another PendingSave lives.
  virtual StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) = 0;

  // Loads a model directory by name, and its seed, which first values of later rows depend on. A
  // model that does not fit is an error that lists what is missing, what is left over and what has
  // another shape; it and a damaged directory change nothing. A read that fails later leaves
  // parameters unspecified. REQUIRES: no step is under way. Tables that are loaded must be empty,
  // else it is an error.
  virtual StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) = 0;

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
