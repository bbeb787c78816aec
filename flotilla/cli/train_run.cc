#include "flotilla/cli/train_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "flotilla/cli/data_files.h"
#include "flotilla/cli/throttle.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/queue_dataset.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

struct Data {
  std::unique_ptr<Dataset> dataset;
  int64_t rows = 0;  // of an epoch; 0: not known before it has ended
  double load_seconds = 0;
};

StatusOr<Data> LoadRows(const TrainOptions& options, std::vector<std::string> files,
                        std::shared_ptr<const Parser> parser, bool shuffle, Terminal& terminal) {
  const int64_t start = terminal.clock.NowNanos();
  FL_ASSIGN_OR_RETURN(auto dataset, InMemoryDataset::Load(std::move(files), std::move(parser),
                                                          {.batch_size = options.batch_size,
                                                           .shuffle = shuffle,
                                                           .seed = options.seed,
                                                           .max_bad_rows = options.max_bad_rows,
                                                           .threads = options.threads}));
  Data data{.rows = dataset->rows().rows,
            .load_seconds = static_cast<double>(terminal.clock.NowNanos() - start) * 1e-9};
  terminal.log.info("read {} rows in {:.2f} s ({} bad rows skipped)", data.rows, data.load_seconds,
                    dataset->skipped());
  data.dataset = std::move(dataset);
  return data;
}

StatusOr<Data> OpenData(std::string_view flag, const std::vector<std::string>& paths,
                        const TrainOptions& options, std::shared_ptr<const Parser> parser,
                        bool shuffle, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(std::vector<std::string> files, ExpandPaths(flag, paths));
  terminal.log.info("{}: {} {}, first {}", flag, files.size(), files.size() == 1 ? "file" : "files",
                    files[0]);
  if (options.in_memory) {
    return LoadRows(options, std::move(files), std::move(parser), shuffle, terminal);
  }
  Data data;
  FL_ASSIGN_OR_RETURN(data.dataset, QueueDataset::Make(std::move(files), std::move(parser),
                                                       {.batch_size = options.batch_size,
                                                        .max_bad_rows = options.max_bad_rows}));
  return data;
}

void LogProgress(const Progress& progress, int64_t all_rows, Terminal& terminal) {
  const double rate = static_cast<double>(progress.rows) / progress.seconds;
  std::string part;
  if (all_rows > 0) {
    part = fmt::format(" of {} ({:.0f} %, {:.0f} s left)", all_rows,
                       100.0 * static_cast<double>(progress.rows) / static_cast<double>(all_rows),
                       static_cast<double>(all_rows - progress.rows) / rate);
  }
  terminal.log.info("epoch {}: {} rows{}, {:.0f} examples/s, loss={:.4f}", progress.epoch,
                    progress.rows, part, rate, progress.loss);
}

std::string MetricsText(const Report& report) {
  std::string text;
  for (const auto& [name, value] : report.metrics) text += fmt::format(", {}={:.4f}", name, value);
  return text;
}

// All that lives as long as a run. Members refer to those above them.
struct Run {
  BuiltinModel builtin;
  std::unique_ptr<LocalCommunicator> communicator;
  Data train, test;
  std::unique_ptr<Throttle> throttle;
  std::unique_ptr<Trainer> trainer;
};

StatusOr<std::unique_ptr<Run>> MakeRun(const TrainOptions& options, Terminal& terminal) {
  auto run = std::make_unique<Run>();
  FL_ASSIGN_OR_RETURN(run->builtin, MakeBuiltinModel(options.model, options.model_flags));
  const Model& model = run->builtin.model;
  FL_ASSIGN_OR_RETURN(
      run->communicator,
      LocalCommunicator::Make(SpecOf(model, options.seed), {.joined = options.deterministic}));
  FL_ASSIGN_OR_RETURN(
      const std::shared_ptr<const Parser> parser,
      CriteoParser::Make(model.graph.def().inputs,
                         {.numeric = options.numeric, .hash_dim = run->builtin.hash_dim}));
  FL_ASSIGN_OR_RETURN(run->train,
                      OpenData("--data", options.data, options, parser, options.shuffle, terminal));
  if (!options.test.empty()) {
    FL_ASSIGN_OR_RETURN(run->test,
                        OpenData("--test", options.test, options, parser, false, terminal));
  }
  run->throttle = std::make_unique<Throttle>(&terminal.clock, kProgressSeconds);
  TrainerOptions trainer_options{.workers = options.threads, .seed = options.seed};
  trainer_options.progress_batches = 1;
  trainer_options.on_progress = [run = run.get(), &terminal](const Progress& progress) {
    if (run->throttle->Due()) LogProgress(progress, run->train.rows, terminal);
  };
  FL_ASSIGN_OR_RETURN(run->trainer, Trainer::Make(&model, run->communicator.get(), &terminal.clock,
                                                  std::move(trainer_options)));
  return run;
}

Status RunEpoch(int64_t epoch, Run& run, TrainResult& result, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(result.train, run.trainer->TrainEpoch(*run.train.dataset, epoch));
  const Report& report = result.train;
  result.examples += report.rows;
  result.train_seconds += report.seconds;
  result.times.Add(report.times);
  terminal.log.info("epoch {} finished, use time={:.2f}, {:.0f} examples/s, loss={:.4f}{}", epoch,
                    report.seconds, static_cast<double>(report.rows) / report.seconds, report.loss,
                    MetricsText(report));
  if (run.test.dataset == nullptr) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(result.test, run.trainer->Evaluate(*run.test.dataset));
  terminal.log.info("epoch {} test, use time={:.2f}, loss={:.4f}{}", epoch, result.test->seconds,
                    result.test->loss, MetricsText(*result.test));
  return absl::OkStatus();
}

}  // namespace

StatusOr<TrainResult> RunTraining(const TrainOptions& options, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<Run> run, MakeRun(options, terminal));
  TrainResult result;
  result.load_seconds = run->train.load_seconds;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    FL_RETURN_IF_ERROR(RunEpoch(epoch, *run, result, terminal));
  }
  result.steps = run->communicator->global_step();
  for (size_t t = 0; t < run->communicator->spec().tables.size(); ++t) {
    result.table_rows += run->communicator->table(static_cast<int>(t)).size();
  }
  return result;
}

}  // namespace flotilla
