#include "flotilla/fleet/train_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "flotilla/communicator/local_communicator.h"
#include "flotilla/fleet/open_data.h"
#include "flotilla/fleet/throttle.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

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
  std::unique_ptr<LocalCommunicator> communicator;
  OpenedData train, test;
  std::unique_ptr<Throttle> throttle;
  std::unique_ptr<Trainer> trainer;
};

Status OpenAll(const TrainOptions& options, const Model& model, Terminal& terminal, Run* run) {
  const DataOptions& data = options.data;
  const LogLine log = [&terminal](std::string_view line) { terminal.log.info("{}", line); };
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser, MakeModelParser(model, data));
  OpenDataOptions train{.flag = "--data",
                        .batch_size = options.batch_size,
                        .threads = options.threads,
                        .seed = options.seed};
  OpenDataOptions test = train;
  test.flag = "--test";
  test.for_training = false;
  // A name without a file is found before rows are read for minutes.
  FL_ASSIGN_OR_RETURN(train.files, FindFiles(train.flag, data.train, data));
  if (!data.test.empty()) {
    FL_ASSIGN_OR_RETURN(test.files, FindFiles(test.flag, data.test, data));
  }
  FL_ASSIGN_OR_RETURN(run->train, OpenData(train, data, parser, terminal.clock, log));
  if (data.test.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(run->test, OpenData(test, data, parser, terminal.clock, log));
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Run>> MakeRun(const TrainOptions& options, const Model& model,
                                       Terminal& terminal) {
  auto run = std::make_unique<Run>();
  FL_ASSIGN_OR_RETURN(
      run->communicator,
      LocalCommunicator::Make(SpecOf(model, options.seed), {.joined = options.deterministic}));
  FL_RETURN_IF_ERROR(OpenAll(options, model, terminal, run.get()));
  run->throttle = std::make_unique<Throttle>(&terminal.clock, options.view.progress_seconds);
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

StatusOr<TrainResult> RunTraining(const TrainOptions& options, const Model& model,
                                  Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<Run> run, MakeRun(options, model, terminal));
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
