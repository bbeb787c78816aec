#include "flotilla/run/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/human.h"
#include "flotilla/communicator/mode.h"

namespace flotilla {
namespace {

// Keys that are always present, null if the model has no such metric.
constexpr const char* kMetrics[] = {"auc", "logloss", "accuracy"};

double Seconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double AllSeconds(const RunResult& result) {
  return result.summary.load_seconds + result.summary.train_seconds;
}

// Null in JSON if nothing was left to train.
double LossOf(const Report& report) { return report.rows > 0 ? report.loss : kUndefined; }

// The flags of this command that implement the advice of a summary.
AdviceWords WordsFor(const TrainOptions& options) {
  return {.faster_input = "--readers N, --cache DIR",
          .rows_in_memory = "rows in memory, without --no_in_memory",
          .larger_batches = "a larger --batch_size",
          .free_workers = options.deterministic ? "training without --deterministic"
                          : GetMode(options.fleet.job.mode.mode).counts_rounds
                              ? "--mode half-async or async"
                              : "",
          .more_workers = "more --threads on more cores",
          .even_shares = "--global_shuffle, which spreads the rows evenly over the trainers"};
}

// Null if there was no such epoch.
nlohmann::ordered_json EpochJson(int64_t epoch) {
  return epoch < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(epoch);
}

// The last and the best epoch, and the directories of their models.
std::string KeptText(const TrainOptions& options, const RunResult& result) {
  const std::string& out = options.keep.out;
  const auto line = [&](const char* name, int64_t epoch, double value, const char* link) {
    std::string text = fmt::format("{:<14}epoch {}", name, epoch);
    if (!std::isnan(value)) {
      text += fmt::format(", test {} {}", DisplayName(result.watch), HumanFigure(value));
    }
    if (!out.empty()) text += fmt::format(", {}/{}", out, link);
    return text + "\n";
  };
  std::string text;
  if (result.last_epoch >= 0) {
    const double value = result.test ? result.test->Metric(result.watch) : kUndefined;
    text += line("last", result.last_epoch, value, "latest");
  }
  if (result.best_epoch >= 0) text += line("best", result.best_epoch, result.best, "best");
  if (result.failed_saves > 0) {
    text += fmt::format("{:<14}{}, see the log; {}/best is the best model that was saved\n",
                        "failed saves", result.failed_saves, out);
  }
  return text;
}

// A line for a model that predicts worse than the mean of the labels does; empty otherwise. The
// usual cause is that training has diverged, which the loss alone does not tell.
std::string WorseThanMean(const RunResult& result, double deviation) {
  const Report& quality = result.test ? *result.test : result.train;
  const double ne = quality.Metric("ne"), rmse = quality.Metric("rmse");
  std::string figures;
  if (ne > 1) {
    figures = fmt::format("ne {}, above 1", HumanFigure(ne));
  } else if (deviation > 0 && rmse > deviation) {
    figures = fmt::format("rmse {}, above {}", HumanFigure(rmse), HumanFigure(deviation));
  }
  if (figures.empty()) return "";
  return fmt::format(
      "{:<14}the model is worse than always predicting the mean ({} {}): lower --learning_rate, or "
      "train fewer --epochs\n",
      "poor model", result.test ? "test" : "train", figures);
}

}  // namespace

std::string ResultTable(const TrainOptions& options, const RunResult& result, double deviation) {
  std::string text;
  size_t width = 14;
  for (const auto& [name, value] : result.train.metrics) width = std::max(width, name.size() + 2);
  auto row = [&](std::string_view name, std::string_view train, std::string_view test) {
    text += fmt::format("{:<{}}{:>12}{:>12}", name, width, train, result.test ? test : "");
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  const auto figures = [&](const std::string& name, double train, double test) {
    row(name, HumanFigure(train), HumanFigure(test));
  };
  const Report empty;
  const Report& test = result.test ? *result.test : empty;
  row("", "train", "test");
  row("examples", fmt::to_string(result.train.rows), fmt::to_string(test.rows));
  for (const auto& [name, value] : result.train.metrics) figures(name, value, test.Metric(name));
  const bool trained = result.train.rows > 0;
  if (trained && !HasMetric(result.train.metrics, "loss")) {
    figures("loss", result.train.loss, test.loss);
  }
  text += WorseThanMean(result, deviation);
  return text + KeptText(options, result) + SummaryText(result.summary, WordsFor(options));
}

std::string ResultJson(const TrainOptions& options, const RunResult& result) {
  nlohmann::ordered_json json;
  const Report& quality = result.test ? *result.test : result.train;
  for (const char* name : kMetrics) json[name] = quality.Metric(name);
  // If a metric has the name of one of the keys below, the key wins.
  for (const auto& [name, value] : quality.metrics) json[name] = value;
  for (const auto& [name, value] : quality.metric_details) json[name] = value;
  json["loss"] = LossOf(quality);
  json["quality_of"] = result.test ? "test" : "train";
  json["examples"] = result.examples;
  json["skipped"] = result.train.skipped;
  json["bad_batches"] = result.summary.bad_batches;
  json["seconds"] = AllSeconds(result);
  json["examples_per_second"] =
      AllSeconds(result) > 0 ? static_cast<double>(result.examples) / AllSeconds(result) : 0;
  for (const char* name : kMetrics) json[std::string("train_") + name] = result.train.Metric(name);
  for (const auto& [name, value] : result.train.metrics) json["train_" + name] = value;
  json["train_loss"] = LossOf(result.train);
  json["load_seconds"] = result.summary.load_seconds;
  json["train_seconds"] = result.summary.train_seconds;
  const StageTimes& times = result.summary.times;
  json["stage_seconds"] = {{"read", Seconds(times.read)},
                           {"pull", Seconds(times.pull)},
                           {"compute", Seconds(times.compute)},
                           {"push", Seconds(times.push)},
                           {"wait", Seconds(times.wait)}};
  if (result.test) {
    json["test_examples"] = result.test->rows;
    json["test_skipped"] = result.test->skipped;
    json["test_seconds"] = result.test->seconds;
    if (!result.watch.empty()) json["best_" + result.watch] = result.best;
    json["best_epoch"] = EpochJson(result.best_epoch);
  }
  json["last_epoch"] = EpochJson(result.last_epoch);
  if (!options.keep.out.empty()) json["out"] = options.keep.out;
  json["failed_saves"] = result.failed_saves;
  json["stopped"] = result.stopped;
  json["model"] = options.model_name;
  json["epochs"] = options.epochs;
  json["batch_size"] = options.batch_size;
  json["trainers"] = result.summary.trainers;
  json["threads"] = options.threads;
  json["mode"] = options.fleet.job.mode.mode;
  json["steps"] = result.steps;
  json["table_rows"] = result.table_rows;
  return json.dump() + "\n";
}

Status TrainAndReport(const TrainOptions& options, MakeRowModel make, Terminal& terminal) {
  RowTask task(options, std::move(make));
  const auto text = [&](const RunResult& result) {
    const TrainOptions& used = task.options();
    return used.view.json ? ResultJson(used, result) : ResultTable(used, result, task.deviation());
  };
  return RunAndReport(options, task, text, terminal);
}

}  // namespace flotilla
