#include "flotilla/cli/infer_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "flotilla/base/human.h"

namespace flotilla {
namespace {

// Keys that are always present, null if the model has no such metric.
constexpr const char* kMetrics[] = {"auc", "logloss", "accuracy"};

// A sum of sample weights; a whole number has no decimals.
std::string WeightText(double weight) {
  return weight == std::floor(weight) ? fmt::format("{:.0f}", weight)
                                      : fmt::format("{:.1f}", weight);
}

std::string DecileTable(const Evaluation& evaluation) {
  std::string text = fmt::format("\n{:<8}{:>12}{:>14}{:>12}{:>14}\n", "decile", "rows", "predicted",
                                 "clicks", "calibration");
  for (size_t d = 0; d < evaluation.deciles.size(); ++d) {
    const CalibrationPart& part = evaluation.deciles[d];
    text += fmt::format("{:<8}{:>12}{:>14.1f}{:>12}{:>14.4f}\n", d + 1, WeightText(part.rows),
                        part.predicted, WeightText(part.clicks), part.Ratio());
  }
  return text;
}

// "after epoch 4 (test AUC 0.7450); best: epoch 2 (test AUC 0.7501)", or "inside epoch 5, after .."
std::string RunText(const RunState& run) {
  const std::string inside = run.position ? fmt::format("inside epoch {}", run.epoch) : "";
  if (run.epoch < 1) return inside.empty() ? "before epoch 0" : inside;
  std::string text =
      fmt::format("{}{}after epoch {}", inside, inside.empty() ? "" : ", ", run.epoch - 1);
  const auto test = [&](double value) {
    return std::isnan(value)
               ? ""
               : fmt::format(" (test {} {})", DisplayName(run.watch), HumanFigure(value));
  };
  text += test(run.last);
  if (run.best_epoch < 0) return text;
  if (run.best_epoch == run.epoch - 1) return text + ", the best so far";
  return text + fmt::format("; best: epoch {}{}", run.best_epoch, test(run.best));
}

// A sum of sample weights; whole numbers as such.
nlohmann::ordered_json WeightJson(double weight) {
  if (weight == std::floor(weight) && weight < 1e15) return static_cast<int64_t>(weight);
  return weight;
}

// Whether the calibration is not among the metrics.
bool AddsCalibration(const Evaluation& evaluation) {
  return !evaluation.deciles.empty() && !HasMetric(evaluation.metrics, "calibration");
}

}  // namespace

double InferResult::examples_per_second() const {
  return seconds() > 0 ? static_cast<double>(evaluation.rows) / seconds() : 0;
}

std::string InferTable(const InferResult& result) {
  const Evaluation& evaluation = result.evaluation;
  std::string text = fmt::format("{:<14}{}, step {}\n", "model", result.model, result.step);
  if (result.run) text += fmt::format("{:<14}{}\n", "saved", RunText(*result.run));
  text += fmt::format("{:<14}{}\n", "examples", evaluation.rows);
  for (const auto& [name, value] : evaluation.metrics) {
    text += fmt::format("{:<14}{}\n", name, HumanFigure(value));
  }
  for (const auto& [name, value] : evaluation.metric_details) {
    text += fmt::format("{:<22}{}\n", name, value);
  }
  if (AddsCalibration(evaluation)) {
    text += fmt::format("{:<14}{}\n", "calibration", HumanFigure(evaluation.calibration));
  }
  text += fmt::format("{:<14}{}\n", "skipped", evaluation.skipped);
  text += fmt::format("{:<14}{:.2f} s, {:.0f} examples/s\n", "time", result.seconds(),
                      result.examples_per_second());
  return evaluation.deciles.empty() ? text : text + DecileTable(evaluation);
}

std::string InferLine(const InferResult& result) {
  const Evaluation& evaluation = result.evaluation;
  std::string text = fmt::format("{}:", result.model);
  for (const auto& [name, value] : evaluation.metrics)
    text += fmt::format(" {}={}", name, HumanFigure(value));
  if (AddsCalibration(evaluation))
    text += fmt::format(" calibration={}", HumanFigure(evaluation.calibration));
  return text + fmt::format(" examples={} skipped={}, {:.2f} s\n", evaluation.rows,
                            evaluation.skipped, result.seconds());
}

std::string InferJson(const InferResult& result) {
  const Evaluation& evaluation = result.evaluation;
  nlohmann::ordered_json json;
  json["model"] = result.model;
  json["step"] = result.step;
  const RunState run = result.run.value_or(RunState{});
  const auto known = [](int64_t epoch) {
    return epoch < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(epoch);
  };
  json["epoch"] = known(run.epoch - 1);
  if (!run.watch.empty()) json["test_" + run.watch] = run.last;
  json["best_epoch"] = known(run.best_epoch);
  if (!run.watch.empty()) json.emplace("best_" + run.watch, run.best);
  // Of rows that lack a label or a group, only what could be computed.
  const bool all = result.absent.empty();
  for (const char* name : kMetrics) {
    if (all || HasMetric(evaluation.metrics, name)) json[name] = evaluation.Metric(name);
  }
  // If a metric has the name of one of the keys below, the key wins.
  for (const auto& [name, value] : evaluation.metrics) json[name] = value;
  for (const auto& [name, value] : evaluation.metric_details) json[name] = value;
  const bool calibrated = all || !evaluation.deciles.empty();
  if (calibrated) json["calibration"] = evaluation.calibration;
  json["examples"] = evaluation.rows;
  json["skipped"] = evaluation.skipped;
  json["seconds"] = result.seconds();
  json["examples_per_second"] = result.examples_per_second();
  if (calibrated) json["deciles"] = nlohmann::ordered_json::array();
  for (const CalibrationPart& part : evaluation.deciles) {
    json["deciles"].push_back({{"rows", WeightJson(part.rows)},
                               {"predicted", part.predicted},
                               {"clicks", WeightJson(part.clicks)},
                               {"calibration", part.Ratio()}});
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace flotilla
