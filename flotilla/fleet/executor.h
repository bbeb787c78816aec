// Training for programs with their own loop, with the API of PaddlePaddle's Fleet tutorials:
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
// The executor owns the model and, unless it is given a communicator, its parameters in this
// process. Names are those of the tutorials, so that each line of a tutorial has a counterpart.
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
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/fleet/slot_dataset.h"
#include "flotilla/graph/step.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/run.h"
#include "flotilla/run/train_options.h"
#include "flotilla/tensor/tensor.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// What to fetch: a value of the graph, or a metric of the model by its name.
struct Fetch {
  Fetch(Var value) : var(value) {}                       // NOLINT: a Var is a Fetch
  Fetch(std::string name) : metric(std::move(name)) {}   // NOLINT
  Fetch(const char* name) : Fetch(std::string(name)) {}  // NOLINT
  // A metric over the last batches only (the tutorials' batch_auc), if the metric keeps such a
  // window.
  static Fetch Window(std::string metric) {
    Fetch fetch(std::move(metric));
    fetch.window = true;
    return fetch;
  }

  Var var;
  std::string metric;  // empty: var
  bool window = false;
};

// Called on its own thread every `seconds` while training runs, with the values of a recent batch
// and the metrics so far, by name.
struct FetchHandler {
  std::map<std::string, Fetch> vars;
  double seconds = 60;
  std::function<void(const std::map<std::string, Tensor>& values)> handler;
};

struct DatasetRunOptions {
  std::vector<Fetch> fetch_list;
  std::vector<std::string> fetch_info;  // labels of the fetch list; may be shorter than it
  int64_t print_period = 100;           // batches between two prints of the fetch list
  FetchHandler fetch_handler;           // not called if it has no handler
  bool debug = false;                   // print how the workers spent their time
  int threads = 0;                      // workers of this call; 0: those of the executor
  // Bad batches that are left out, counted (Report::bad_batches) and printed; one more is an error.
  int64_t max_bad_batches = kMaxBadBatches;
  // Called often, by any worker. Once it returns true, workers end after their batch and the call
  // returns with Report::stopped. May be empty.
  std::function<bool()> stop;
};

struct ExecutorOptions {
  int threads = 1;  // workers
  uint64_t seed = 0;
  bool deterministic = false;
  std::ostream* print = nullptr;  // where fetched values go; null: standard output
};

// infer(), run(), end_pass(), reset_metrics() and metric_state() may be called by several threads:
// fed batches are trained one at a time, and so are those of infer(), beside anything else. While
// fit() or train_from_dataset() trains, another call that trains is FailedPrecondition, also in a
// callback of theirs. Other calls: one at a time.
class Executor {
 public:
  // Parameters start with their initial values. Errors: those of the graph, options out of range.
  static StatusOr<std::unique_ptr<Executor>> Make(Model model, ExecutorOptions options);
  // The same with parameters that `communicator` holds, which was made from SpecOf(model,
  // options.seed) or from another model whose parameters this one uses (graph/share_parameters.h):
  // a test program beside the training program.
  // REQUIRES: communicator outlives the executor.
  static StatusOr<std::unique_ptr<Executor>> Make(Model model, Communicator* communicator,
                                                  ExecutorOptions options);
  ~Executor();

  const Model& model() const { return model_; }
  Communicator& communicator() { return *communicator_; }

  // Resets every parameter to its initial value and clears the state of the optimizer. An error if
  // the parameters live on servers, which initialize them.
  Status run_startup();

  // Trains one epoch over the dataset; each call is the next epoch. A dataset without rows is an
  // error unless the parameters live on servers: then other workers may have rows. With servers the
  // call is collective: every worker trains the same number of epochs.
  StatusOr<Report> train_from_dataset(Dataset& dataset, const DatasetRunOptions& options = {});
  StatusOr<Report> train_from_dataset(SlotDataset& dataset, const DatasetRunOptions& options = {});
  // Trains options.epochs further epochs with all that a training run does (run/run.h): a test
  // after each, models in options.keep.out, early stop. The rows are `rows` or, if those are not
  // set, those of the files of options.data. Threads, seed and determinism are those of the
  // executor. A second call continues the first, also in its directory; with options.keep.resume
  // the model in the directory counts its epochs. If the parameters live on servers, host.job is
  // the job.
  StatusOr<RunResult> fit(TrainOptions options, std::optional<GivenRows> rows, Terminal& terminal,
                          RunHost host = {});
  // Forward only, in inference mode. Metrics start at zero. `interrupt`, if not null, ends it with
  // an error, Cancelled, once it is raised.
  StatusOr<Report> infer_from_dataset(Dataset& dataset, const Interrupt* interrupt = nullptr);
  StatusOr<Report> infer_from_dataset(SlotDataset& dataset, const Interrupt* interrupt = nullptr);
  // The same over the rows of the files data.test, read as those that were trained on. Errors name
  // the flag and the file. `interrupt` ends the reading too; it may be null.
  StatusOr<Report> infer_from_files(const DataOptions& data, int64_t batch_size, Terminal& terminal,
                                    const Interrupt* interrupt);

  // Training on batches that the caller makes (dataset/batch_builder.h). In every mode a pass over
  // them is an epoch: the first run() begins it, end_pass() ends it. With servers every worker
  // makes the same number of passes, of any number of batches; a worker without a batch calls only
  // end_pass(). In sync and GEO the first run() of a pass waits until every worker has begun it or
  // has stopped. In sync a worker that has ended a pass does not delay the others; in GEO
  // end_pass() waits for the others.

  // Trains on one batch and returns the values of the fetch list from its forward pass. Metrics are
  // those of all batches fed to run() since reset_metrics(). A loss or gradients that are not
  // finite are an error (IsBadBatch of trainer/bad_batch.h): the caller has made the batch, so it
  // decides whether to go on with another. Nothing is pushed then.
  StatusOr<std::vector<Tensor>> run(const Batch& feed, std::span<const Fetch> fetch_list);
  // Trains on several batches, in parallel. In sync and half-async they are one round: their
  // gradients are averaged and pushed once. In modes whose workers are free each batch is a step of
  // its own, one after the other. The values of the batches are joined along their first axis;
  // those of scalars are (batches). REQUIRES: at least one batch.
  StatusOr<std::vector<Tensor>> run(std::span<const Batch> feeds,
                                    std::span<const Fetch> fetch_list);
  // Ends a pass (the tutorials' reader.reset()): on return everything that this worker trained is
  // applied. train_from_dataset and Fleet::stop_worker end an open pass; saving and infer do not.
  Status end_pass();
  // Forward only, in inference mode; no parameter changes. Metrics are those of all batches fed to
  // infer() since reset_metrics().
  StatusOr<std::vector<Tensor>> infer(const Batch& feed, std::span<const Fetch> fetch_list);
  // Resets the metrics of run() and of infer() to zero.
  void reset_metrics();
  // The state of a metric of run() (for AUC, e.g., the counts of clicks and other rows by score),
  // to be merged by Metric::Merge of a metric with the same spec; states of several workers must
  // not be added element by element. Errors: the model has no such metric.
  StatusOr<std::vector<double>> metric_state(const std::string& metric) const;

  // Any parameter by name, as the servers have it if there are servers; call end_pass() first to
  // include all batches that were fed. A table is returned as (rows, dim) in ascending order of
  // ids.
  StatusOr<Tensor> parameter(const std::string& name) { return communicator_->ReadParameter(name); }
  Status set_parameter(const std::string& name, std::span<const float> values) {
    return communicator_->WriteParameter(name, values);
  }

  // The rows of a table by id, (ids, dim), in the order of `ids`, which may repeat. An id that has
  // no row has the initial value that training would give it, and no row is created. NotFound if
  // the model has no such table.
  StatusOr<Tensor> rows(const std::string& table, std::span<const uint64_t> ids);

  // Saves everything needed to continue training. Like save_inference_model it stores the format of
  // the rows, so that rows of another format are rejected later: that of the last SlotDataset that
  // was trained on, else of the model that was loaded, else Model::format.
  Status save_persistables(const std::string& dir);
  // Saves only what the prediction needs: no optimizer state, no parameters that only the loss
  // reads. `predict` is the value to predict; not set: the model's own.
  Status save_inference_model(const std::string& dir, Var predict = {});
  // Loads parameters by name. See LoadOptions for what may be missing. From a model that a GEO job
  // saved, only the weights are loaded and the optimizer starts afresh; one line on the print
  // stream says so. `missing`, if not null, receives the names that only the model has.
  Status load_persistables(const std::string& dir, const LoadOptions& options = {},
                           std::vector<std::string>* missing = nullptr);

  // FailedPrecondition that begins with `call` while fit() or train_from_dataset() trains, by any
  // thread: for calls that are not to be made then.
  Status check_idle(const char* call) const;

  // Epochs and passes trained so far by this object.
  int64_t epoch() const { return epoch_; }

 private:
  // The plan and the loop for one fetch list, kept for later batches with the same list.
  struct Feeding;

  Executor(Model model, ExecutorOptions options);
  Status Init();
  // A call that trains epochs: begins it (ends an open pass), unless another one is running.
  Status BeginEpochs(const char* call);
  void EndEpochs();
  Status CheckNoEpochs(const char* call) const FL_REQUIRES(run_mutex_);
  StatusOr<Report> TrainOn(Dataset& dataset, const DatasetRunOptions& options);
  StatusOr<RunResult> Fit(TrainOptions options, std::optional<GivenRows> rows, Terminal& terminal,
                          RunHost host);
  Status EndPass();
  std::ostream& print() const;
  Status CheckFetches(std::span<const Fetch> fetches) const;
  StatusOr<Feeding*> Prepare(std::span<const Fetch> fetch_list, int workers, bool training);
  void MakeLoop(bool training, Feeding* feeding);
  // Begins a pass unless one is open.
  Status BeginPass();
  StatusOr<std::vector<Tensor>> RunOnce(std::span<const Batch> feeds,
                                        std::span<const Fetch> fetch_list, bool training);

  Model model_;
  const ExecutorOptions options_;
  const SteadyClock clock_;
  std::unique_ptr<Communicator> own_;
  Communicator* communicator_ = nullptr;
  // Held while a batch is trained, or computed by infer(): of what these calls use.
  mutable Mutex run_mutex_, infer_mutex_;
  const char* epochs_ FL_GUARDED_BY(run_mutex_) = nullptr;  // the call that trains epochs now
  std::unique_ptr<Feeding> train_feeding_, infer_feeding_;
  MetricSet run_metrics_, infer_metrics_;
  ParserSpec rows_;  // format of the rows that the parameters were trained on
  int64_t epoch_ = 0;
  std::string fit_out_;      // directory of the last fit()
  bool pass_open_ = false;   // run() began an epoch that end_pass() has not ended
  int64_t fed_batches_ = 0;  // in this pass; the ordinal of the next batch
};

}  // namespace flotilla
