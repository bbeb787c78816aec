#include "flotilla/fleet/train_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

constexpr const char* kMetrics[] = {"auc", "logloss", "accuracy"};

double Seconds(int64_t nanos) { return static_cast<double>(nanos) * 1e-9; }

double AllSeconds(const TrainResult& result) { return result.load_seconds + result.train_seconds; }

double Rate(const TrainResult& result) {
  return static_cast<double>(result.examples) / AllSeconds(result);
}

}  // namespace

std::string ResultTable(const TrainResult& result) {
  std::string text;
  auto row = [&](std::string_view name, std::string_view train, std::string_view test) {
    text += fmt::format("{:<14}{:>12}{:>12}", name, train, result.test ? test : "");
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  const Report empty;
  const Report& test = result.test ? *result.test : empty;
  row("", "train", "test");
  row("examples", fmt::to_string(result.train.rows), fmt::to_string(test.rows));
  for (const char* name : kMetrics) {
    row(name, fmt::format("{:.4f}", result.train.Metric(name)),
        fmt::format("{:.4f}", test.Metric(name)));
  }
  row("skipped", fmt::to_string(result.train.skipped), fmt::to_string(test.skipped));
  const StageTimes& times = result.times;
  text += fmt::format("time            {:.2f} s: load {:.2f}, train {:.2f}; {:.0f} examples/s\n",
                      AllSeconds(result), result.load_seconds, result.train_seconds, Rate(result));
  text += fmt::format(
      "worker seconds  read {:.2f}, pull {:.2f}, compute {:.2f}, push {:.2f}, wait {:.2f}\n",
      Seconds(times.read), Seconds(times.pull), Seconds(times.compute), Seconds(times.push),
      Seconds(times.wait));
  return text;
}

std::string ResultJson(const TrainOptions& options, const TrainResult& result) {
  nlohmann::ordered_json json;
  const Report& quality = result.test ? *result.test : result.train;
  for (const char* name : kMetrics) json[name] = quality.Metric(name);
  json["quality_of"] = result.test ? "test" : "train";
  json["examples"] = result.examples;
  json["skipped"] = result.train.skipped;
  json["seconds"] = AllSeconds(result);
  json["examples_per_second"] = Rate(result);
  for (const char* name : kMetrics) json[std::string("train_") + name] = result.train.Metric(name);
  json["load_seconds"] = result.load_seconds;
  json["train_seconds"] = result.train_seconds;
  const StageTimes& times = result.times;
  json["stage_seconds"] = {{"read", Seconds(times.read)},
                           {"pull", Seconds(times.pull)},
                           {"compute", Seconds(times.compute)},
                           {"push", Seconds(times.push)},
                           {"wait", Seconds(times.wait)}};
  if (result.test) {
    json["test_examples"] = result.test->rows;
    json["test_skipped"] = result.test->skipped;
    json["test_seconds"] = result.test->seconds;
  }
  json["model"] = options.model_name;
  json["epochs"] = options.epochs;
  json["batch_size"] = options.batch_size;
  json["threads"] = options.threads;
  json["steps"] = result.steps;
  json["table_rows"] = result.table_rows;
  return json.dump() + "\n";
}

Status TrainAndReport(const TrainOptions& options, const Model& model, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const TrainResult result, RunTraining(options, model, terminal));
  terminal.out << (options.view.json ? ResultJson(options, result) : ResultTable(result));
  return absl::OkStatus();
}

}  // namespace flotilla
