// The loop in the user's own hands, in the words of the tutorials:
//
//   FL_ASSIGN_OR_RETURN(auto executor, fl::Executor::Make(ClickModel(), {.threads = 2}));
//   for (int epoch = 0; epoch < 3; ++epoch) {
//     FL_RETURN_IF_ERROR(executor->train_from_dataset(*train, {.fetch_list = {"auc"}}).status());
//   }
//   FL_RETURN_IF_ERROR(executor->save_persistables("model"));
//
// or, with batches that the program makes itself,
//
//   for (int pass = 0; pass < 3; ++pass) {
//     while (reader.Next(&batch)) FL_RETURN_IF_ERROR(executor->run(batch, fetch_list).status());
//     FL_RETURN_IF_ERROR(executor->end_pass());
//   }
//
// It owns the model and, unless it is given a communicator, its parameters in this process. Names
// are those of the tutorials, so that a tutorial's line finds its counterpart.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/fleet/slot_dataset.h"
#include "flotilla/graph/step.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/tensor/tensor.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// What to fetch: a value of the graph, or a metric of the model by its name.
struct Fetch {
  Fetch(Var value) : var(value) {}                       // NOLINT: a Var is a Fetch
  Fetch(std::string name) : metric(std::move(name)) {}   // NOLINT
  Fetch(const char* name) : Fetch(std::string(name)) {}  // NOLINT
  // A metric over the last batches only (the tutorials' batch_auc), where it keeps such a window.
  static Fetch Window(std::string metric) {
    Fetch fetch(std::move(metric));
    fetch.window = true;
    return fetch;
  }

  Var var;
  std::string metric;  // empty: var
  bool window = false;
};

// Called on a thread of its own while training goes on, every `seconds`, with the values of a
// recent batch and metrics so far, by name.
struct FetchHandler {
  std::map<std::string, Fetch> vars;
  double seconds = 60;
  std::function<void(const std::map<std::string, Tensor>& values)> handler;
};

struct DatasetRunOptions {
  std::vector<Fetch> fetch_list;
  std::vector<std::string> fetch_info;  // what is printed before each; may be shorter
  int64_t print_period = 100;           // batches between two prints of the fetch list
  FetchHandler fetch_handler;           // none without a handler
  bool debug = false;                   // print where the workers' time went
};

struct ExecutorOptions {
  int threads = 1;  // workers
  uint64_t seed = 0;
  bool deterministic = false;
  std::ostream* print = nullptr;  // where fetched values go; null: standard output
};

// Not thread-safe; one call at a time.
class Executor {
 public:
  // Parameters start with their first values. Errors: the graph's own, options out of range.
  static StatusOr<std::unique_ptr<Executor>> Make(Model model, ExecutorOptions options);
  // The same on parameters that live elsewhere, made from SpecOf(model, options.seed).
  // REQUIRES: communicator outlives the executor.
  static StatusOr<std::unique_ptr<Executor>> Make(Model model, Communicator* communicator,
                                                  ExecutorOptions options);
  ~Executor();

  const Model& model() const { return model_; }
  Communicator& communicator() { return *communicator_; }

  // Gives every parameter its first value again and forgets the optimizer's state. Parameters that
  // live elsewhere are an error: their servers start them.
  Status run_startup();

  // One epoch over the dataset; each call is the next one. No rows are an error unless the
  // parameters live elsewhere: then other workers may have some. There it is collective: every
  // worker trains as many epochs.
  StatusOr<Report> train_from_dataset(Dataset& dataset, const DatasetRunOptions& options = {});
  StatusOr<Report> train_from_dataset(SlotDataset& dataset, const DatasetRunOptions& options = {});
  // Forward only, in inference mode. Metrics start at zero.
  StatusOr<Report> infer_from_dataset(Dataset& dataset);
  StatusOr<Report> infer_from_dataset(SlotDataset& dataset);

  // Batches that the caller makes (dataset/batch_builder.h). A pass of them is an epoch in every
  // mode: the first run() begins it, end_pass() ends it. Over servers every worker makes as many
  // passes, of any number of batches; one that has no batch calls end_pass() alone. In sync and GEO
  // the first run() of a pass waits until every worker has begun it or has stopped. A worker that
  // has ended a pass holds up nobody in sync; in GEO end_pass() waits for the others.

  // Trains on one batch and returns the values of the fetch list from its forward pass. Metrics are
  // those of all batches fed to run() since reset_metrics().
  StatusOr<std::vector<Tensor>> run(const Batch& feed, std::span<const Fetch> fetch_list);
  // Ends a pass: everything that this worker trained is applied, the tutorials' reader.reset().
  // train_from_dataset and Fleet::stop_worker end a pass that is open; saving and infer do not.
  Status end_pass();
  // Forward only, in inference mode; no parameter changes. Metrics are those of all batches fed to
  // infer() since reset_metrics().
  StatusOr<std::vector<Tensor>> infer(const Batch& feed, std::span<const Fetch> fetch_list);
  // Metrics of run() and of infer() start at zero again.
  void reset_metrics();
  // What a metric of run() has counted (e.g. the clicks and the other rows by score, for AUC), to
  // be merged by Metric::Merge of a metric with the same spec; states of several workers must not
  // be added number by number. Errors: the model has no such metric.
  StatusOr<std::vector<double>> metric_state(const std::string& metric) const;

  // Any parameter by name, as the servers have it where there are any; end_pass() first includes
  // everything that was fed. A table as (rows, dim) in ascending order of ids.
  StatusOr<Tensor> parameter(const std::string& name) { return communicator_->ReadParameter(name); }
  Status set_parameter(const std::string& name, std::span<const float> values) {
    return communicator_->WriteParameter(name, values);
  }

  // Everything that going on with training needs. Like save_inference_model it tells how rows are
  // made, so that others are not taken for them: as those of the last SlotDataset that was trained
  // on, else of the model that was loaded, else as Model::format says.
  Status save_persistables(const std::string& dir);
  // What the prediction needs and nothing else: no optimizer state, no parameters that only the
  // loss reads. `predict` is the value to predict; not set: the model's own.
  Status save_inference_model(const std::string& dir, Var predict = {});
  // By name. See LoadOptions for what may be missing. Of a model that a GEO job saved the weights
  // are loaded and the optimizer starts afresh, which one line tells where fetched values go.
  Status load_persistables(const std::string& dir, const LoadOptions& options = {});

  // Epochs and passes trained so far by this object.
  int64_t epoch() const { return epoch_; }

 private:
  // A plan for one list of fetches, kept for the next batch that is fed with the same list.
  struct Feeding;

  Executor(Model model, ExecutorOptions options);
  Status Init();
  std::ostream& print() const;
  Status CheckFetches(std::span<const Fetch> fetches) const;
  StatusOr<Feeding*> Prepare(std::span<const Fetch> fetch_list, bool training);
  // Begins a pass unless one is open.
  Status BeginPass();
  StatusOr<std::vector<Tensor>> RunOnce(const Batch& feed, std::span<const Fetch> fetch_list,
                                        bool training);

  Model model_;
  const ExecutorOptions options_;
  const SteadyClock clock_;
  std::unique_ptr<Communicator> own_;
  Communicator* communicator_ = nullptr;
  std::unique_ptr<Feeding> train_feeding_, infer_feeding_;
  MetricSet run_metrics_, infer_metrics_;
  ParserSpec rows_;  // how the rows are made that the parameters were trained on
  int64_t epoch_ = 0;
  Batch fed_;                // the batch of run(), numbered as one of this pass
  bool pass_open_ = false;   // run() began an epoch that end_pass() has not ended
  int64_t fed_batches_ = 0;  // of this pass: the ordinal of the next one
};

}  // namespace flotilla
