// Training: the options of a run, the executor, and the part of a process in a job.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <sstream>
#include <thread>

#include "flotilla/base/nearest_name.h"
#include "flotilla/fleet/executor.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/graph/share_parameters.h"
#include "flotilla/models/zoo.h"
#include "flotilla/python/arrays.h"
#include "flotilla/python/listener.h"
#include "flotilla/python/program_rows.h"
#include "flotilla/python/slot_rows.h"
#include "flotilla/run/auto_train.h"
#include "flotilla/run/look_at_rows.h"
#include "flotilla/run/row_features.h"
#include "flotilla/run/row_task.h"

namespace flotilla::python {
namespace {

using RowsPointer = std::shared_ptr<ProgramRows>;

// How long a call of a job may go on after a signal, so that most of them need not end the job.
constexpr std::chrono::milliseconds kMayEnd(500);

void BindOptions(py::module_& m) {
  py::class_<TrainOptions>(m, "TrainOptions", "The options of a run, as plain values.")
      .def(py::init<>())
      .def_readwrite("model_name", &TrainOptions::model_name)
      .def_readwrite("epochs", &TrainOptions::epochs)
      .def_readwrite("batch_size", &TrainOptions::batch_size)
      .def_readwrite("max_bad_batches", &TrainOptions::max_bad_batches)
      .def_readwrite("threads", &TrainOptions::threads)
      .def_readwrite("seed", &TrainOptions::seed)
      .def_readwrite("deterministic", &TrainOptions::deterministic)
      .def_readwrite("watch", &TrainOptions::watch)
      .def_readwrite("early_stop", &TrainOptions::early_stop)
      .def_readwrite("plateau", &TrainOptions::plateau)
      .def_readwrite("keep", &TrainOptions::keep)
      .def_readwrite("data", &TrainOptions::data);
  py::class_<KeepOptions>(m, "KeepOptions")
      .def_readwrite("out", &KeepOptions::out)
      .def_readwrite("every_epochs", &KeepOptions::every_epochs)
      .def_readwrite("every_steps", &KeepOptions::every_steps)
      .def_readwrite("every_minutes", &KeepOptions::every_minutes)
      .def_readwrite("keep", &KeepOptions::keep)
      .def_readwrite("resume", &KeepOptions::resume)
      .def_readwrite("overwrite", &KeepOptions::overwrite)
      .def_readwrite("init_model", &KeepOptions::init_model);
  py::class_<DataOptions>(m, "DataOptions")
      .def_readwrite("train", &DataOptions::train)
      .def_readwrite("test", &DataOptions::test)
      .def_property(
          "format", [](const DataOptions& data) { return data.format.format; },
          [](DataOptions& data, std::string name) { data.format.format = std::move(name); })
      .def_property(
          "format_params", [](const DataOptions& data) { return data.format.params; },
          [](DataOptions& data, std::map<std::string, std::string> params) {
            data.format.params = std::move(params);
          })
      .def_readwrite("schema", &DataOptions::schema)
      .def_readwrite("label", &DataOptions::label)
      .def("set_task",
           [](DataOptions& data, const std::string& name) {
             for (const LabelTask task :
                  {LabelTask::kClick, LabelTask::kRegression, LabelTask::kClasses}) {
               if (name == NameOf(task)) data.task = task;
             }
             if (!data.task) {
               Check(InvalidArgument("task '{}' is not click, regression or classes", name));
             }
           })
      .def_readwrite("in_memory", &DataOptions::in_memory)
      .def_readwrite("shuffle", &DataOptions::shuffle)
      .def_readwrite("shuffle_rows", &DataOptions::shuffle_rows)
      .def_readwrite("drop_last", &DataOptions::drop_last)
      .def_readwrite("max_bad_rows", &DataOptions::max_bad_rows)
      .def_readwrite("readers", &DataOptions::readers)
      .def_readwrite("pipe_command", &DataOptions::pipe_command)
      .def_readwrite("ignore_format", &DataOptions::ignore_format)
      .def_readwrite("cache", &DataOptions::cache);
}

py::dict ResultDict(const RunResult& result) {
  py::dict dict;
  dict["train"] = TrainReportDict(result.train);
  dict["test"] = result.test ? py::object(ReportDict(*result.test)) : py::none();
  dict["examples"] = result.examples;
  dict["steps"] = result.steps;
  dict["watch"] = result.watch;
  dict["best"] = result.best;
  dict["best_epoch"] = result.best_epoch;
  dict["last_epoch"] = result.last_epoch;
  dict["failed_saves"] = result.failed_saves;
  dict["stopped"] = result.stopped;
  dict["seconds"] = result.summary.train_seconds;
  return dict;
}

// For work that is no run of its own but is listened to as one.
template <typename Work>
StatusOr<RunResult> RunOnly(Work work) {
  FL_RETURN_IF_ERROR(work());
  return RunResult();
}

// Runs `work`; if rows of the program raised what ended it, raises that instead.
template <typename Work>
auto Rethrowing(std::initializer_list<RowsPointer> rows, Work work) {
  const auto rethrow = [&] {
    for (const RowsPointer& each : rows) {
      if (each != nullptr) each->Rethrow();
    }
  };
  try {
    auto result = work();
    rethrow();
    return result;
  } catch (const StatusError&) {
    rethrow();
    throw;
  }
}

// Every flag that was given is one that the model has read.
Status CheckFlags(const std::string& model, const Config::Values& given, const Config& config) {
  std::vector<std::string> known;
  for (const Config::Flag& flag : config.flags()) known.push_back(flag.name);
  for (const auto& [name, value] : given) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return InvalidArgument("the model {} has no argument {}{}", model, name,
                           DidYouMean(name, known));
  }
  return absl::OkStatus();
}

// The part of this process in a job.
class PyJob {
 public:
  PyJob(uint64_t seed, std::optional<Role> role) {
    FleetInit init{.role = std::move(role)};
    init.seed = seed;
    init.interrupt = &interrupt_;
    Check(fleet_.init(std::move(init)));
  }

  void SetModel(const ModelHandle& handle, const std::string& mode) {
    Check(fleet_.distributed_optimizer(handle.model, {.mode = mode}));
  }
  // The mode of a strategy of the tutorials, "sync_mode=false, geo_sgd_mode=true".
  void SetStrategy(const ModelHandle& handle, const std::string& strategy) {
    Check(fleet_.distributed_optimizer(handle.model, Check(Strategy::FromText(strategy))));
  }
  void Serve(const std::string& init_model) {
    Check(fleet_.init_server(init_model));
    RunInterruptibly(
        [this](StopRequest& stop) { return fleet_.run_server([&stop] { return stop.made(); }); });
  }
  void Join() {
    RunInterruptibly(
        [this](StopRequest& stop) { return fleet_.init_worker([&stop] { return stop.made(); }); });
  }
  // With an empty text successfully, otherwise with this cause for all processes.
  void Leave(const std::string& error) {
    const Status outcome = error.empty() ? absl::OkStatus() : absl::AbortedError(error);
    Status status;
    Call("the end of its part", [&] { status = fleet_.stop_worker(outcome); });
    if (error.empty()) Check(std::move(status));
  }
  void Barrier() {
    Status status;
    Call("barrier", [&] { status = fleet_.barrier(); });
    Check(std::move(status));
  }
  // A call that may wait for other processes, without the GIL. If a signal handler raises
  // meanwhile, and the call does not end soon, it can end only with the job.
  void Call(const char* name, const std::function<void()>& call) {
    if (fleet_.server_num() == 0) {
      const py::gil_scoped_release release;
      call();
      return;
    }
    std::atomic<bool> ended = false;
    RunInterruptibly(
        [&](StopRequest&) {
          call();
          ended = true;
          return absl::OkStatus();
        },
        {},
        [&] {
          const py::gil_scoped_release release;
          const auto until = std::chrono::steady_clock::now() + kMayEnd;
          while (!ended && std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
          if (ended) return;
          fleet_.job().Abort(absl::CancelledError(fmt::format(
              "{} was interrupted while it waited in {}", fleet_.role().ToString(), name)));
        });
  }
  Fleet& fleet() { return fleet_; }
  Interrupt* interrupt() { return &interrupt_; }

 private:
  Interrupt interrupt_;
  Fleet fleet_;
};

// What a step or an epoch fetches: a value, a metric, or a metric over its window of batches.
struct WindowOf {
  std::string metric;
};
using FetchArgument = std::variant<GraphVar, std::string, WindowOf>;

// The tutorials' options of train_from_dataset. The handler is told values by name every so many
// seconds, on the thread that called.
struct EpochArguments {
  std::vector<FetchArgument> fetch_list;
  std::vector<std::string> fetch_info;
  int64_t print_period = 100;
  int threads = 0;
  bool debug = false;
  std::map<std::string, FetchArgument> handler_vars;
  double handler_seconds = 60;
  py::object handler = py::none();  // None: there is no handler
};

// What the engine prints, until the thread that called from Python prints it.
class PrintMail final : public std::stringbuf {
 public:
  std::deque<std::string> TakeAll() { return mail_.TakeAll(); }

 private:
  int sync() override {
    mail_.Put(str());
    str("");
    return 0;
  }

  Mailbox<std::string> mail_;
};

// A model of the zoo for the rows of the options, and what its recipe leaves open.
std::pair<std::shared_ptr<ModelHandle>, TrainOptions> MakeZoo(const std::string& name,
                                                              const Config::Values& flags,
                                                              TrainOptions options, PyJob* job,
                                                              const std::string& job_mode,
                                                              const py::object& listener) {
  const ZooModel* const zoo = FindZooModel(name);
  if (zoo == nullptr) Check(NotFound("there is no model {}", name));
  auto handle = std::make_shared<ModelHandle>();
  ListenedRun(listener).Run([&](Terminal& terminal, const RunHost& host) -> StatusOr<RunResult> {
    FL_ASSIGN_OR_RETURN(const DescribedRows rows,
                        FindRowFeatures(options, zoo->fields, terminal, host.stop->interrupt()));
    // In a job every process finds out the same by itself, from the same files.
    if (job != nullptr) {
      options.fleet.role = job->fleet().role();
      options.fleet.job.mode.mode = job_mode;
    }
    const Mode& mode = GetMode(options.fleet.job.mode.mode);
    double cooldown = 0;
    const ModelFunction make = [&](const Config& config) {
      cooldown = ReadCooldown(config, !mode.joins_workers);
      return MakeZooModel(*zoo, rows.features, config);
    };
    const Config config(flags);
    FL_ASSIGN_OR_RETURN(handle->model, MakeModel(make, config));
    FL_RETURN_IF_ERROR(CheckFlags(name, flags, config));
    handle->model.format = rows.format;
    handle->model.format.pipe_command = options.data.pipe_command;
    if (options.epochs == 0) options.epochs = DefaultEpochs(zoo->recipe, rows.features);
    if (options.batch_size == 0) options.batch_size = DefaultBatchSize(zoo->recipe, rows.features);
    ScheduleSpec& rate = handle->model.optimizer.learning_rate;
    rate = WithCooldown(std::move(rate), cooldown, rows.features.rows, options);
    return RunResult();
  });
  // The flags of the format have served to find the rows' format, which the model has now.
  options.data.format = {};
  return {handle, options};
}

// The results of a race and of the training of its choice, as the JSON of the command.
std::string TrainAutoText(TrainOptions options, double holdout, std::optional<bool> last,
                          const py::object& listener) {
  options.view.json = true;
  std::ostringstream out;
  ListenedRun(listener).Run([&](Terminal& terminal, const RunHost& host) {
    Terminal own{
        .out = out, .console = terminal.console, .log = terminal.log, .clock = terminal.clock};
    return RunOnly(
        [&] { return TrainAuto(options, {.holdout = holdout, .last = last}, own, host); });
  });
  return out.str();
}

// The text of the schema that fits a CSV file.
std::string InferSchema(const std::string& path, const std::string& label, int threads,
                        const py::object& listener) {
  std::string text;
  ListenedRun(listener).Run([&](Terminal& terminal, const RunHost& host) -> StatusOr<RunResult> {
    const DataOptions data;
    const LookOptions look{.data = &data, .threads = threads, .interrupt = host.stop->interrupt()};
    FL_ASSIGN_OR_RETURN(text, InferSchemaText({path}, label, look, terminal));
    return RunResult();
  });
  return text;
}

// An executor, and the job that its parameters may live in.
class PyExecutor {
 public:
  // The job has joined and outlives the executor.
  PyExecutor(const ModelHandle& handle, PyJob& job, int threads, uint64_t seed) : job_(&job) {
    const ExecutorOptions options{.threads = threads, .seed = seed, .print = &print_};
    executor_ = Check(Executor::Make(CopyOf(handle.model), &job.fleet().communicator(), options));
  }
  // A second program on the parameters of `base`, which outlives it.
  PyExecutor(const ModelHandle& handle, PyExecutor& base) : job_(base.job_) {
    Model model = CopyOf(handle.model);
    Check(UseParametersOf(base.executor_->model().graph.def(), model.graph.mutable_def()));
    executor_ = Check(
        Executor::Make(std::move(model), &base.executor_->communicator(), {.print = &print_}));
  }
  PyExecutor(const ModelHandle& handle, int threads, uint64_t seed, bool deterministic) {
    const ExecutorOptions options{
        .threads = threads, .seed = seed, .deterministic = deterministic, .print = &print_};
    executor_ = Check(Executor::Make(CopyOf(handle.model), options));
  }

  py::dict Fit(TrainOptions options, const RowsPointer& train, const RowsPointer& test,
               const py::object& listener) {
    if (job_ != nullptr) options.fleet.role = job_->fleet().role();
    std::optional<GivenRows> rows;
    if (train != nullptr) rows = GivenRows{.train = train->Open(), .train_rows = train->rows()};
    if (train != nullptr && test != nullptr) rows->test = test->Open();
    return ResultDict(Rethrowing({train, test}, [&] {
      return ListenedRun(listener).Run([&](Terminal& terminal, RunHost host) {
        if (job_ != nullptr) host.job = &job_->fleet().job();
        return executor_->fit(options, rows, terminal, std::move(host));
      });
    }));
  }

  // Of rows of the program or, if that is null, of the files of data.test.
  py::dict Evaluate(const RowsPointer& rows, const DataOptions& data, int64_t batch_size,
                    const py::object& listener) {
    const auto evaluate = [&](Terminal& terminal, const Interrupt* interrupt) -> StatusOr<Report> {
      if (rows == nullptr) {
        return executor_->infer_from_files(data, batch_size, terminal, interrupt);
      }
      FL_ASSIGN_OR_RETURN(const auto view, rows->Open()({.batch_size = batch_size}, interrupt));
      return executor_->infer_from_dataset(*view, interrupt);
    };
    Report report;
    Rethrowing({rows}, [&] {
      return ListenedRun(listener).Run([&](Terminal& terminal, const RunHost& host) {
        return RunOnly([&]() -> Status {
          FL_ASSIGN_OR_RETURN(report, evaluate(terminal, host.stop->interrupt()));
          return absl::OkStatus();
        });
      });
    });
    return ReportDict(report);
  }

  py::list Step(const py::dict& feed, const std::vector<FetchArgument>& fetch, bool training) {
    Batch batch = std::exchange(feed_, {});  // other threads make batches of their own meanwhile
    FillBatch(inputs(), feed, training, &batch);
    py::list fetched = Fetched(fetch, [&](std::span<const Fetch> fetches) {
      return training ? executor_->run(batch, fetches) : executor_->infer(batch, fetches);
    });
    feed_ = std::move(batch);
    return fetched;
  }

  // One round of several batches.
  py::list Round(const std::vector<py::dict>& feeds, const std::vector<FetchArgument>& fetch) {
    if (feeds.empty()) Check(InvalidArgument("round: there are no batches"));
    std::vector<Batch> batches;
    for (const py::dict& feed : feeds) batches.push_back(BatchOf(inputs(), feed, true));
    return Fetched(
        fetch, [&](std::span<const Fetch> fetches) { return executor_->run(batches, fetches); });
  }

  py::dict TrainFromDataset(SlotRows& rows, const EpochArguments& arguments) {
    Report report;
    Mailbox<std::map<std::string, Tensor>> mail;
    DatasetRunOptions options{.fetch_info = arguments.fetch_info,
                              .print_period = arguments.print_period,
                              .debug = arguments.debug,
                              .threads = arguments.threads};
    for (const auto& each : arguments.fetch_list) options.fetch_list.push_back(FetchOf(each));
    if (!arguments.handler.is_none()) {
      for (const auto& [name, each] : arguments.handler_vars) {
        options.fetch_handler.vars.emplace(name, FetchOf(each));
      }
      options.fetch_handler.seconds = arguments.handler_seconds;
      options.fetch_handler.handler = [&mail](const std::map<std::string, Tensor>& values) {
        mail.Put(values);
      };
    }
    rows.Run(
        [&](SlotDataset& dataset, StopRequest& stop) -> Status {
          options.stop = [&stop] { return stop.made(); };
          FL_ASSIGN_OR_RETURN(report, executor_->train_from_dataset(dataset, options));
          return absl::OkStatus();
        },
        [&] {
          Print();
          for (const auto& values : mail.TakeAll()) {
            py::dict arrays;
            for (const auto& [name, value] : values) arrays[py::str(name)] = ArrayOf(value);
            arguments.handler(arrays);
          }
        });
    return TrainReportDict(report);
  }

  py::dict InferFromDataset(SlotRows& rows) {
    Report report;
    rows.Run([&](SlotDataset& dataset, StopRequest&) -> Status {
      FL_ASSIGN_OR_RETURN(report, executor_->infer_from_dataset(dataset, &rows.interrupt()));
      return absl::OkStatus();
    });
    return ReportDict(report);
  }

  std::vector<double> MetricState(const std::string& metric) {
    // Another thread may train meanwhile.
    return Check(Away("metric_state", [&] { return executor_->metric_state(metric); }));
  }

  // The prediction of the model: its last column, or all of them if there are more than two.
  py::array_t<float> Predict(const py::dict& arrays) {
    const Model& model = executor_->model();
    const int predict = model.predict.valid()   ? model.predict.index()
                        : model.metrics.empty() ? -1
                                                : model.metrics[0].vars[0];
    if (predict < 0) {
      Check(FailedPrecondition("the model has no prediction: pass predict= to Model, or a metric"));
    }
    const std::vector<Fetch> fetches = {Fetch(Var(def(), predict))};
    std::vector<float> values;
    const int64_t rows = ForEachPart(inputs(), arrays, [&](const Batch& batch) {
      const Tensor tensor =
          Check(Away("predict", [&] { return executor_->infer(batch, fetches); })).front();
      values.insert(values.end(), tensor.data.begin(), tensor.data.end());
    });
    const int64_t columns = rows == 0 ? 1 : values.size() / rows;
    if (columns > 2) return ArrayOf(values, {rows, columns});
    std::vector<float> last(rows);
    for (int64_t row = 0; row < rows; ++row) last[row] = values[(row + 1) * columns - 1];
    return ArrayOf(last, {rows});
  }

  py::array_t<float> Parameter(const std::string& name) {
    return ArrayOf(Check(Away("parameter", [&] { return executor_->parameter(name); })));
  }

  py::array_t<float> TableRows(const std::string& table, const py::object& ids) {
    const std::vector<uint64_t> wanted = IdsOf(ids, "ids");
    return ArrayOf(Check(Away("rows", [&] { return executor_->rows(table, wanted); })));
  }

  void SetParameter(const std::string& name,
                    const py::array_t<float, py::array::c_style | py::array::forcecast>& values) {
    const std::span<const float> span(values.data(), static_cast<size_t>(values.size()));
    Check(Away("set_parameter", [&] { return executor_->set_parameter(name, span); }));
  }

  template <typename Work>
  void Released(const char* name, Work work) {
    Status status = Away(name, [&] { return work(*executor_); });
    Print();
    Check(std::move(status));
  }

  Executor& executor() { return *executor_; }
  std::span<const InputSpec> inputs() const { return executor_->model().graph.def().inputs; }

 private:
  // The result of a call without the GIL; in a job, of one of its calls.
  template <typename Work>
  auto Away(const char* name, Work work) -> decltype(work()) {
    decltype(work()) result = absl::UnknownError("");
    const auto call = [&] { result = work(); };
    if (job_ != nullptr) {
      job_->Call(name, call);
    } else {
      const py::gil_scoped_release release;
      call();
    }
    return result;
  }

  void Print() {
    for (const std::string& text : printed_.TakeAll()) {
      py::print(TextOf(text), py::arg("end") = "", py::arg("flush") = true);
    }
  }

  template <typename Run>
  py::list Fetched(const std::vector<FetchArgument>& fetch, Run run) {
    std::vector<Fetch> fetches;
    for (const auto& each : fetch) fetches.push_back(FetchOf(each));
    StatusOr<std::vector<Tensor>> values =
        Away("a step", [&] { return run(std::span<const Fetch>(fetches)); });
    py::list arrays;
    for (const Tensor& value : Check(std::move(values))) arrays.append(ArrayOf(value));
    return arrays;
  }

  // Fetches refer to a graph without changing it.
  GraphDef* def() const { return const_cast<GraphDef*>(&executor_->model().graph.def()); }
  Fetch FetchOf(const FetchArgument& what) const {
    if (const auto* name = std::get_if<std::string>(&what)) return {*name};
    if (const auto* window = std::get_if<WindowOf>(&what)) return Fetch::Window(window->metric);
    // The value of the same number in the executor's copy of the graph.
    const GraphVar& value = std::get<GraphVar>(what);
    const auto& vars = def()->vars;
    const auto index = static_cast<size_t>(value.var.index());
    if (index >= vars.size() || vars[index].name != value.var.name()) {
      Check(InvalidArgument("{} does not belong to the model", value.var.name()));
    }
    return {Var(def(), value.var.index())};
  }

  PrintMail printed_;
  std::ostream print_{&printed_};
  PyJob* job_ = nullptr;  // null: the parameters are here
  Batch feed_;            // of the last Step, for its memory; with the GIL
  std::unique_ptr<Executor> executor_;
};

}  // namespace

void BindTraining(py::module_& m) {
  BindOptions(m);
  py::class_<Role>(m, "Role", "The part of a process in a job, said by the program.")
      .def(py::init([](bool is_server, int index, std::vector<std::string> servers, int trainers) {
             return Role{.kind = is_server ? Role::Kind::kServer : Role::Kind::kTrainer,
                         .index = index,
                         .servers = std::move(servers),
                         .trainers = trainers};
           }),
           py::arg("is_server"), py::arg("index"), py::arg("servers"), py::arg("trainers"));
  py::class_<PyJob>(m, "Job")
      .def(py::init<uint64_t, std::optional<Role>>(), py::arg("seed"), py::arg("role") = py::none())
      .def_property_readonly("is_server", [](PyJob& job) { return job.fleet().is_server(); })
      .def_property_readonly("index", [](PyJob& job) { return job.fleet().role().index; })
      .def_property_readonly("trainers", [](PyJob& job) { return job.fleet().worker_num(); })
      .def_property_readonly("servers", [](PyJob& job) { return job.fleet().server_num(); })
      .def_property_readonly("threads", [](PyJob& job) { return job.fleet().worker_threads(); })
      .def("set_model", &PyJob::SetModel, py::arg("model"), py::arg("mode"))
      .def("set_strategy", &PyJob::SetStrategy, py::arg("model"), py::arg("strategy"))
      .def(
          "split_files",
          [](PyJob& job, std::vector<std::string> files) {
            return Check(job.fleet().split_files(std::move(files)));
          },
          py::arg("files"))
      .def("barrier", &PyJob::Barrier)
      .def("serve", &PyJob::Serve, py::arg("init_model"))
      .def("join", &PyJob::Join)
      .def("leave", &PyJob::Leave, py::arg("error"));
  py::class_<SlotRows> slot_rows(m, "SlotRows", "A dataset of the tutorials.");
  slot_rows.def(py::init([](const std::string& kind, PyJob* job) {
                  return std::make_unique<SlotRows>(kind, job ? job->interrupt() : nullptr);
                }),
                py::keep_alive<1, 3>(), py::arg("kind"), py::arg("job") = py::none());
  BindSlotRows(slot_rows);
  py::class_<WindowOf>(m, "Window", "A metric over its window of batches, to fetch.")
      .def(py::init<std::string>(), py::arg("metric"));
  py::class_<EpochArguments>(m, "EpochArguments", "Options of train_from_dataset.")
      .def(py::init<>())
      .def_readwrite("fetch_list", &EpochArguments::fetch_list)
      .def_readwrite("fetch_info", &EpochArguments::fetch_info)
      .def_readwrite("print_period", &EpochArguments::print_period)
      .def_readwrite("threads", &EpochArguments::threads)
      .def_readwrite("debug", &EpochArguments::debug)
      .def_readwrite("handler_vars", &EpochArguments::handler_vars)
      .def_readwrite("handler_seconds", &EpochArguments::handler_seconds)
      .def_readwrite("handler", &EpochArguments::handler);
  py::class_<PyExecutor>(m, "Executor")
      .def(py::init<const ModelHandle&, PyExecutor&>(), py::keep_alive<1, 3>(), py::arg("model"),
           py::arg("base"))
      .def(py::init<const ModelHandle&, PyJob&, int, uint64_t>(), py::keep_alive<1, 3>(),
           py::arg("model"), py::arg("job"), py::arg("threads"), py::arg("seed"))
      .def(py::init<const ModelHandle&, int, uint64_t, bool>(), py::arg("model"),
           py::arg("threads"), py::arg("seed"), py::arg("deterministic"))
      .def("fit", &PyExecutor::Fit, py::arg("options"), py::arg("train"), py::arg("test"),
           py::arg("listener"))
      .def("evaluate", &PyExecutor::Evaluate, py::arg("rows"), py::arg("data"),
           py::arg("batch_size"), py::arg("listener"))
      .def("step", &PyExecutor::Step, py::arg("feed"), py::arg("fetch"), py::arg("training"))
      .def("round", &PyExecutor::Round, py::arg("feeds"), py::arg("fetch"))
      .def("train_from_dataset", &PyExecutor::TrainFromDataset, py::arg("rows"),
           py::arg("arguments"))
      .def("infer_from_dataset", &PyExecutor::InferFromDataset, py::arg("rows"))
      .def("metric_state", &PyExecutor::MetricState, py::arg("metric"))
      .def("end_pass",
           [](PyExecutor& e) { e.Released("end_pass", [](Executor& x) { return x.end_pass(); }); })
      .def("reset_metrics",
           [](PyExecutor& e) {
             const py::gil_scoped_release release;  // another thread may train meanwhile
             e.executor().reset_metrics();
           })
      .def("predict", &PyExecutor::Predict, py::arg("arrays"))
      .def("parameter", &PyExecutor::Parameter, py::arg("name"))
      .def("table_rows", &PyExecutor::TableRows, py::arg("table"), py::arg("ids"))
      .def("set_parameter", &PyExecutor::SetParameter, py::arg("name"), py::arg("values"))
      .def(
          "save",
          [](PyExecutor& e, const std::string& dir, bool inference) {
            e.Released("save", [&](Executor& x) {
              return inference ? x.save_inference_model(dir) : x.save_persistables(dir);
            });
          },
          py::arg("dir"), py::arg("inference"))
      .def(
          "load",
          [](PyExecutor& e, const std::string& dir, bool allow_missing, bool optimizer_state) {
            std::vector<std::string> missing;
            e.Released("load", [&](Executor& x) {
              LoadOptions options;
              options.allow_missing = allow_missing;
              options.optimizer_state = optimizer_state;
              return x.load_persistables(dir, options, &missing);
            });
            return missing;
          },
          py::arg("dir"), py::arg("allow_missing"), py::arg("optimizer_state") = true)
      .def(
          "check_idle",
          [](PyExecutor& e, const std::string& call) {
            e.Released("check_idle", [&](Executor& x) { return x.check_idle(call.c_str()); });
          },
          py::arg("call"))
      .def_property_readonly("epoch", [](PyExecutor& e) { return e.executor().epoch(); });
  m.def("infer_schema", &InferSchema, py::arg("path"), py::arg("label"), py::arg("threads"),
        py::arg("listener"));
  m.def("make_zoo", &MakeZoo, py::arg("name"), py::arg("flags"), py::arg("options"), py::arg("job"),
        py::arg("mode"), py::arg("listener"));
  m.def("train_auto", &TrainAutoText, py::arg("options"), py::arg("holdout"), py::arg("last"),
        py::arg("listener"));
}

}  // namespace flotilla::python
