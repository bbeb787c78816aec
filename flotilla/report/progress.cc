#include "flotilla/report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/human.h"

namespace flotilla {
namespace {

// Ranks by which a narrow terminal drops fields, the highest first. Fields without a rank always
// stay.
enum Rank {
  kTimeLeft = 1,
  kPercent,
  kFirstMetric,
  kFirstWindow,
  kOtherMetric,
  kLearningRate,
  kRows,
  kStep
};

double ShareLeft(const Progress& progress) {
  const double share = EpochShare(progress);
  return share > 0 ? 1 - share : kUndefined;
}

// The rows of the whole epoch, known or extrapolated.
double EpochRows(const Progress& progress) {
  if (progress.epoch_rows > 0) return static_cast<double>(progress.epoch_rows);
  return static_cast<double>(progress.rows) / EpochShare(progress);
}

double SecondsLeft(const Progress& progress) {
  const double rows = EpochRows(progress) * ShareLeft(progress);
  const double epochs_left =
      static_cast<double>(std::max<int64_t>(progress.epochs - progress.epoch - 1, 0));
  const double left = (rows + epochs_left * EpochRows(progress)) / progress.examples_per_second;
  return std::isfinite(left) ? left : kUndefined;
}

std::string LeftText(double seconds) {
  return std::isnan(seconds) ? "" : HumanSeconds(seconds) + " left";
}

TaskField PercentField(double share) {
  return {"percent", 100 * share, std::isnan(share) ? "" : HumanShare(share), kPercent};
}

double Number(int64_t count) { return static_cast<double>(count); }

// Appends every metric, each followed by its value over the last batches if it has one. A metric
// with the name of another field is left out.
void AddMetricFields(const Progress& progress, std::vector<TaskField>* fields) {
  const auto add = [&](std::string key, double value, std::string_view prefix,
                       const std::string& name, Rank rank) {
    const auto same = [&](const TaskField& field) { return field.key == key; };
    if (std::any_of(fields->begin(), fields->end(), same)) return;
    const std::string text =
        std::isnan(value) ? ""
                          : fmt::format("{}{} {}", prefix, DisplayName(name), HumanFigure(value));
    fields->push_back({std::move(key), value, text, rank});
  };
  bool first = true;
  for (const auto& [name, value] : progress.metrics) {
    add(name, value, "", name, first ? kFirstMetric : kOtherMetric);
    if (HasMetric(progress.window_metrics, name)) {
      add(name + std::string(kWindowSuffix), MetricValue(progress.window_metrics, name), "recent ",
          name, first ? kFirstWindow : kOtherMetric);
    }
    first = false;
  }
}

}  // namespace

void ProgressMeter::Complete(Progress* progress) {
  if (progress->epoch != epoch_) {
    earlier_rows_ += rows_;
    earlier_seconds_ += seconds_;
    epoch_ = progress->epoch;
    rows_ = seconds_ = 0;
  }
  rows_ = Number(progress->rows);
  seconds_ = progress->seconds;
  rate_.Add(earlier_rows_ + rows_, earlier_seconds_ + seconds_);
  // At the first report of a run the window is still empty: use the mean of the epoch.
  const double rate = rate_.rate() > 0 ? rate_.rate() : rows_ / seconds_;
  progress->examples_per_second = std::isfinite(rate) ? rate : kUndefined;
  progress->seconds_left = SecondsLeft(*progress);
}

double EpochShare(const Progress& progress) {
  double share = progress.read_share;
  if (progress.epoch_rows > 0) share = Number(progress.rows) / Number(progress.epoch_rows);
  return std::isnan(share) ? share : std::clamp(share, 0.0, 1.0);
}

std::string_view RateUnit(std::string_view unit) { return unit == "rows" ? "examples" : unit; }

TaskMoment TrainingMoment(const Progress& progress, std::string_view unit) {
  const double share = EpochShare(progress);
  const double rate = progress.examples_per_second;
  TaskMoment moment{.task = "train", .fields = {}, .share = std::isnan(share) ? -1 : share};
  const std::string of = progress.epochs > 1 ? fmt::format(" of {}", progress.epochs) : "";
  moment.fields = {
      {"epoch", Number(progress.epoch), fmt::format("epoch {}{}", progress.epoch, of)},
      {"epochs", progress.epochs > 0 ? Number(progress.epochs) : kUndefined},
      PercentField(share),
      {std::string(unit), Number(progress.rows),
       fmt::format("{} {}", HumanCount(Number(progress.rows)), unit), kRows},
      {fmt::format("{}_per_second", RateUnit(unit)), rate,
       std::isnan(rate) ? "" : fmt::format("{} {}/s", HumanCount(rate), RateUnit(unit))},
      {"loss", progress.loss, fmt::format("loss {}", HumanFigure(progress.loss))},
  };
  AddMetricFields(progress, &moment.fields);
  const double learning_rate = progress.learning_rate;
  moment.fields.insert(
      moment.fields.end(),
      {{"learning_rate", learning_rate,
        std::isnan(learning_rate) ? "" : fmt::format("lr {:.3g}", learning_rate), kLearningRate},
       {"step", Number(progress.step),
        progress.step > 0 ? fmt::format("step {}", progress.step) : "", kStep},
       {"seconds_left", progress.seconds_left, LeftText(progress.seconds_left), kTimeLeft}});
  return moment;
}

}  // namespace flotilla
