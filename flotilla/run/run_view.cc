#include "flotilla/run/run_view.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "flotilla/report/curve_plot.h"
#include "flotilla/report/log_lines.h"
#include "flotilla/run/job_status.h"

namespace flotilla {
namespace {

// Trainer 0 of a job writes the files for all trainers.
bool WritesFiles(const RunOptions& options) { return options.fleet.role.index == 0; }

std::string LogDir(const RunOptions& options) { return options.keep.out + ".log"; }

MetricsPoint PointOf(MetricsPoint::Kind kind, int64_t epoch, int64_t step, const Report& report) {
  return {
      .kind = kind, .epoch = epoch, .step = step, .loss = report.loss, .metrics = report.metrics};
}

}  // namespace

StatusOr<std::unique_ptr<RunView>> RunView::Make(const RunOptions* options, std::string unit,
                                                 Terminal* terminal) {
  std::unique_ptr<RunView> view(new RunView(options, std::move(unit), terminal));
  if (options->keep.out.empty() || !WritesFiles(*options)) return view;
  const std::string path = LogDir(*options) + "/metrics.jsonl";
  if (options->keep.resume) {
    StatusOr<std::vector<MetricsPoint>> earlier = ReadMetrics(path);
    if (earlier.ok()) {
      MutexLock lock(view->mutex_);
      for (MetricsPoint& point : *earlier) view->points_.Add(std::move(point));
    }
  }
  const MetricsLogOptions log{.append = options->keep.resume, .aside = options->keep.overwrite};
  FL_ASSIGN_OR_RETURN(view->log_, MetricsLog::Open(path, log));
  return view;
}

RunView::RunView(const RunOptions* options, std::string unit, Terminal* terminal)
    : options_(options),
      unit_(std::move(unit)),
      terminal_(terminal),
      point_due_(&terminal->clock, kPointSeconds) {}

void RunView::Batch(const Progress& progress, const Task& task) {
  Progress full = progress;
  full.epochs = options_->epochs;
  full.epoch_rows = epoch_rows_;
  meter_.Complete(&full);
  terminal_->console.Update([&] {
    task.AddMetrics(&full);
    TaskMoment moment = TrainingMoment(full, unit_);
    // Figures during an epoch are those of this trainer; figures at its end are those of all.
    if (const Role& role = options_->fleet.role; role.trainers > 1) {
      moment.fields.insert(moment.fields.begin() + 1,
                           {"trainer", static_cast<double>(role.index),
                            fmt::format("trainer {} of {}", role.index, role.trainers)});
    }
    return moment;
  });
  if (!point_due_.Due()) return;
  task.AddMetrics(&full);
  Keep({.kind = MetricsPoint::Kind::kTrain,
        .epoch = full.epoch,
        .step = full.step,
        .loss = full.loss,
        .metrics = full.metrics,
        .window_metrics = full.window_metrics});
  if (log_ != nullptr) CheckWrite(log_->WriteTrain(full));
  TellLauncher(full);
}

// For the launcher of this trainer.
void RunView::TellLauncher(const Progress& progress) const {
  const double share = EpochShare(progress);
  WriteStatus(options_->fleet.status_file,
              {.unit = unit_,
               .epoch = progress.epoch,
               .epochs = progress.epochs,
               .count = static_cast<double>(progress.rows),
               .epoch_count = share > 0 ? static_cast<double>(progress.rows) / share : kUndefined,
               .per_second = progress.examples_per_second,
               .loss = progress.loss,
               .metrics = progress.metrics,
               .seconds_left = progress.seconds_left});
}

void RunView::BadBatch(int64_t number, int64_t step, const std::string& text) {
  terminal_->log.warn("left out bad batch {} of the epoch: {}", number, text);
  const Role& role = options_->fleet.role;
  // Figures of a job come from its first trainer, but only this one knows of the batch.
  AddStatusLine(
      options_->fleet.status_file,
      fmt::format("trainer {} left out bad batch {} of its epoch: {}", role.index, number, text));
  Event("bad batch", step, text);
}

void RunView::ShareDone(int64_t epoch, const Report& report) {
  const auto rows = static_cast<double>(report.rows);
  WriteStatus(options_->fleet.status_file, {.unit = unit_,
                                            .epoch = epoch,
                                            .epochs = options_->epochs,
                                            .count = rows,
                                            .epoch_count = rows,
                                            .loss = report.rows > 0 ? report.loss : kUndefined,
                                            .metrics = report.metrics});
}

void RunView::TellLine(const std::string& line) const {
  terminal_->log.info("{}", line);
  if (WritesFiles(*options_)) AddStatusLine(options_->fleet.status_file, line);
}

void RunView::EpochDone(int64_t epoch, int64_t step, const Report& report) {
  terminal_->console.EndTask();
  TellLine(EpochFinishedLine(epoch, report, unit_));
  for (const std::string& hint : report.hints) terminal_->log.warn("{}", hint);
  Keep(PointOf(MetricsPoint::Kind::kEpoch, epoch, step, report));
  if (log_ != nullptr) CheckWrite(log_->WriteEpoch(epoch, step, report));
}

void RunView::TestDone(int64_t epoch, int64_t step, const Report& report) {
  TellLine(EpochTestLine(epoch, report));
  for (const std::string& hint : report.hints) terminal_->log.warn("test: {}", hint);
  Keep(PointOf(MetricsPoint::Kind::kTest, epoch, step, report));
  if (log_ != nullptr) CheckWrite(log_->WriteTest(epoch, step, report));
}

void RunView::Saved(int64_t step, const std::string& dir) {
  if (log_ == nullptr) return;
  CheckWrite(log_->Publish());
  CheckWrite(log_->WriteEvent("save", step, dir));
}

void RunView::SaveFailed(int64_t step, std::string_view cause, const std::string& line) {
  terminal_->log.error("{}", line);
  if (WritesFiles(*options_)) AddStatusLine(options_->fleet.status_file, line);
  Event("save failed", step, cause);
}

void RunView::Event(std::string_view event, int64_t step, std::string_view detail) {
  if (log_ != nullptr) CheckWrite(log_->WriteEvent(event, step, detail));
}

Status RunView::Draw() {
  MutexLock lock(mutex_);
  const CurvePlotOptions plot{.title = options_->model_name};
  const std::vector<MetricsPoint> points = points_.All();
  if (log_ != nullptr) {
    const Status status = WriteCurveSvg(LogDir(*options_) + "/curves.svg", points, plot);
    if (!status.ok()) terminal_->log.warn("{}", Message(status));
  }
  if (options_->view.plot.empty() || !WritesFiles(*options_)) return absl::OkStatus();
  return Annotate(WriteCurveSvg(options_->view.plot, points, plot), "--plot");
}

void RunView::Keep(MetricsPoint point) {
  MutexLock lock(mutex_);
  points_.Add(std::move(point));
}

void RunView::CheckWrite(const Status& status) {
  if (status.ok()) return;
  MutexLock lock(mutex_);
  if (std::exchange(write_failed_, true)) return;
  terminal_->log.warn("{}; training continues", Message(status));
}

}  // namespace flotilla
