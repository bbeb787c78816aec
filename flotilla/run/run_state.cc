#include "flotilla/run/run_state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "flotilla/run/group_report.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;

// The part of a report that a resumed epoch continues.
Json ReportJson(const Report& report) {
  const StageTimes& times = report.times;
  return {{"rows", report.rows},
          {"trained", report.trained},
          {"batches", report.batches},
          {"bad_batches", report.bad_batches},
          {"limited_bad_batches", report.limited_bad_batches},
          {"bad_batch_rows", report.bad_batch_rows},
          {"loss", report.loss},
          {"weight", report.weight},
          {"seconds", report.seconds},
          {"stage_nanos", {times.read, times.pull, times.compute, times.push, times.wait}},
          {"metric_state", report.metric_state}};
}

// A figure that is not finite is null.
double NumberFrom(const nlohmann::json& json) {
  return json.is_null() ? kUndefined : json.get<double>();
}

// In earlier versions an undefined AUC was -1.
double EarlierAuc(const nlohmann::json& json) {
  const double auc = json.get<double>();
  return auc < 0 ? kUndefined : auc;
}

// Throws a JSON exception.
Report ReportFromJson(const nlohmann::json& json) {
  Report report;
  report.rows = json.at("rows").get<int64_t>();
  report.trained = json.at("trained").get<int64_t>();
  report.batches = json.at("batches").get<int64_t>();
  report.loss = NumberFrom(json.at("loss"));
  // Models of earlier versions do not have these.
  report.bad_batches = json.value("bad_batches", report.bad_batches);
  report.limited_bad_batches = json.value("limited_bad_batches", report.bad_batches);
  report.bad_batch_rows = json.value("bad_batch_rows", report.bad_batch_rows);
  report.weight = json.value("weight", 0.0);
  report.seconds = json.at("seconds").get<double>();
  const nlohmann::json& nanos = json.at("stage_nanos");
  report.times = {.read = nanos.at(0).get<int64_t>(),
                  .pull = nanos.at(1).get<int64_t>(),
                  .compute = nanos.at(2).get<int64_t>(),
                  .push = nanos.at(3).get<int64_t>(),
                  .wait = nanos.at(4).get<int64_t>()};
  for (const nlohmann::json& number : json.at("metric_state")) {
    report.metric_state.push_back(NumberFrom(number));
  }
  return report;
}

Status CheckShares(const EpochShares& shares) {
  int next = 0;
  for (const int share : shares.own) {
    if (share < next || share >= shares.count) {
      return InvalidArgument("share {} of {} is out of order or range", share, shares.count);
    }
    next = share + 1;
  }
  return absl::OkStatus();
}

}  // namespace

void RunState::Watch(const std::string& metric) {
  if (watch == metric) return;
  watch = metric;
  ForgetBest();
}

bool RunState::TestOn(const std::string& data) {
  if (data.empty() || tested == data) return false;
  const bool had_figures = !tested.empty() && best_epoch >= 0;
  if (had_figures) ForgetBest();
  tested = data;
  return had_figures;
}

void RunState::ForgetBest() {
  best = last = kUndefined;
  best_epoch = -1;
  epochs_without_better = 0;
}

bool RunState::NoteTest(int64_t tested_epoch, double value, bool larger_is_better) {
  if (watch.empty()) return false;
  last = value;
  const bool first = std::isnan(best) && !std::isnan(value);
  if (!first && !(larger_is_better ? value > best : value < best)) {
    ++epochs_without_better;
    return false;
  }
  best = value;
  best_epoch = tested_epoch;
  epochs_without_better = 0;
  return true;
}

Status RunState::TakePlace(int trainer, int trainers, std::span<const MetricSpec> metrics) {
  if (!position) return absl::OkStatus();
  std::vector<RunState> saved;
  for (const std::string& text : std::exchange(others, {})) {
    FL_ASSIGN_OR_RETURN(saved.emplace_back(), FromText(text));
  }
  saved.insert(saved.begin(), *this);
  if (static_cast<int>(saved.size()) == trainers) {
    return TakeOwn(saved[static_cast<size_t>(trainer)], trainer);
  }
  return TakeShares(saved, trainer, trainers, metrics);
}

Status RunState::TakeOwn(const RunState& saved, int trainer) {
  const bool idle = saved.shares.count > 0 && saved.shares.own.empty();
  if (!saved.position && !idle) {
    return InvalidArgument("section {}: trainer {} has no position", kRunSection, trainer);
  }
  position = saved.position;
  if (idle) position.reset();
  so_far = saved.so_far;
  settings = saved.settings;
  shares = saved.shares;
  return absl::OkStatus();
}

Status RunState::TakeShares(std::span<const RunState> saved, int trainer, int trainers,
                            std::span<const MetricSpec> metrics) {
  const auto refused = [&](std::string_view reason) {
    return FailedPrecondition(
        "the model was saved inside epoch {} by {} trainer(s), and this run has {}: {}; continue "
        "with {}, or begin a new epoch from its weights with --init_model and another --out",
        epoch, saved.size(), trainers, reason, saved.size());
  };
  std::map<int, DatasetPosition> places;  // by share
  std::vector<Report> reports;
  for (size_t t = 0; t < saved.size(); ++t) {
    const RunState& state = saved[t];
    if (state.shares.count == 0) return refused("the rows of each trainer were its own");
    if (state.settings != settings) {
      return refused(fmt::format("trainer {} had other files or options than trainer 0", t));
    }
    const size_t own = state.shares.own.size();
    // A single share may be a position without parts.
    const bool whole = own == 1 && state.position && state.position->parts.empty();
    if (state.shares.count != shares.count || state.shares.dealt != shares.dealt ||
        (own > 0 && !whole && (!state.position || state.position->parts.size() != own))) {
      return InvalidArgument(
          "section {}: the shares of trainer {} do not fit its position or those "
          "of trainer 0",
          kRunSection, t);
    }
    for (size_t i = 0; i < own; ++i) {
      places[state.shares.own[i]] = whole ? *state.position : state.position->parts[i];
    }
    if (static_cast<int>(t) % trainers == trainer) reports.push_back(state.so_far);
  }
  shares.own.clear();
  std::vector<DatasetPosition> parts;
  int dealt = 0;
  for (auto& [share, place] : places) {
    if (dealt++ % trainers != trainer) continue;
    shares.own.push_back(share);
    parts.push_back(std::move(place));
  }
  FL_ASSIGN_OR_RETURN(so_far, MergeReports(metrics, reports));
  position.reset();
  if (parts.size() == 1) position = std::move(parts[0]);
  if (parts.size() > 1) position = DatasetPosition{.epoch = epoch, .parts = std::move(parts)};
  return absl::OkStatus();
}

std::string RunState::ToText() const {
  nlohmann::ordered_json json = {{"epoch", epoch},
                                 {"earlier_steps", earlier_steps},
                                 {"watch", watch},
                                 {"best", best},
                                 {"best_epoch", best_epoch},
                                 {"last", last},
                                 {"epochs_without_better", epochs_without_better},
                                 {"tested", tested},
                                 {"rate_factor", rate_factor}};
  if (position) {
    json["position"] = position->ToText();
    json["so_far"] = ReportJson(so_far);
  }
  if (!settings.empty()) json["settings"] = settings;
  if (!options.empty()) json["options"] = options;
  if (shares.count > 0) {
    json["shares"] = {{"count", shares.count}, {"by_size", shares.by_size}, {"own", shares.own}};
    if (shares.dealt) json["shares"]["dealt"] = true;
  }
  if (!others.empty()) json["others"] = others;
  return json.dump();
}

StatusOr<RunState> RunState::FromText(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  RunState state;
  try {
    state.epoch = json.at("epoch").get<int64_t>();
    state.earlier_steps = json.value("earlier_steps", state.earlier_steps);
    if (json.contains("watch")) {
      state.watch = json["watch"].get<std::string>();
      state.best = NumberFrom(json.at("best"));
      state.last = NumberFrom(json.at("last"));
    } else {
      state.watch = "auc";
      state.best = EarlierAuc(json.at("best_auc"));
      state.last = EarlierAuc(json.value("last_auc", nlohmann::json(-1)));
    }
    state.best_epoch = json.value("best_epoch", state.best_epoch);
    state.epochs_without_better = json.at("epochs_without_better").get<int64_t>();
    state.tested = json.value("tested", state.tested);
    state.rate_factor = json.value("rate_factor", state.rate_factor);
    if (!(state.rate_factor > 0 && state.rate_factor <= 1)) {
      return InvalidArgument("section {}: rate_factor is {}, must be in (0, 1]", kRunSection,
                             state.rate_factor);
    }
    state.settings = json.value("settings", state.settings);
    state.options = json.value("options", state.options);
    state.others = json.value("others", state.others);
    if (json.contains("shares")) {
      const nlohmann::json& shares = json["shares"];
      state.shares = {.count = shares.at("count").get<int>(),
                      .by_size = shares.at("by_size").get<bool>(),
                      .dealt = shares.value("dealt", false),
                      .own = shares.at("own").get<std::vector<int>>()};
      FL_RETURN_IF_ERROR(
          Annotate(CheckShares(state.shares), fmt::format("section {}", kRunSection)));
    }
    if (json.contains("position")) {
      FL_ASSIGN_OR_RETURN(state.position,
                          DatasetPosition::FromText(json["position"].get<std::string>()));
      // Models of earlier versions do not have it.
      if (json.contains("so_far")) state.so_far = ReportFromJson(json["so_far"]);
    }
  } catch (const nlohmann::json::exception& e) {
    return InvalidArgument("section {}: {}", kRunSection, e.what());
  }
  return state;
}

Status CheckSettings(const RunState& state, const std::map<std::string, std::string>& now) {
  std::vector<std::string> differ;
  for (const auto& [flag, value] : state.settings) {
    const auto found = now.find(flag);
    if (found != now.end() && found->second == value) continue;
    differ.push_back(fmt::format("{} was {}, now {}", flag, value,
                                 found == now.end() ? "not given" : found->second));
  }
  if (differ.empty()) return absl::OkStatus();
  return FailedPrecondition(
      "the model was saved inside epoch {}, and its position is valid only for the same rows and "
      "batches: {}; use the values it was saved with to finish the epoch, or begin a new epoch "
      "from its weights with --init_model and another --out",
      state.epoch, fmt::join(differ, "; "));
}

std::map<std::string, std::string> RunOptionsOf(const std::map<std::string, std::string>& settings,
                                                const Model& model) {
  std::map<std::string, std::string> options = settings;
  const ScheduleSpec& rate = model.optimizer.learning_rate;
  // The other parameters of a schedule may follow from the numbers of epochs and rows.
  const auto first = rate.params.find("rate");
  const std::string text = first != rate.params.end()
                               ? fmt::to_string(first->second)
                               : fmt::format("{}", fmt::join(rate.values, ","));
  options["--learning_rate"] = text;
  return options;
}

std::string ChangedOptions(const std::map<std::string, std::string>& before,
                           const std::map<std::string, std::string>& now) {
  std::string text;
  for (const auto& [flag, value] : now) {
    const auto saved = before.find(flag);
    if (saved == before.end() || saved->second == value) continue;
    text +=
        fmt::format("{}{} was {}, now {}", text.empty() ? "" : "; ", flag, saved->second, value);
  }
  return text;
}

ModelSections DescribeModel(const Model& model, const ParserSpec& format) {
  const GraphDef& graph = model.graph.def();
  return {.graph = Graph(std::make_unique<GraphDef>(graph)),
          .predict = PredictValue(graph, model.predict.index(), model.metrics),
          .loss = model.loss.index(),
          .metrics = MetricsOf(model),
          .format = format};
}

StatusOr<Sections> SectionsOf(const Model& model, const ParserSpec& format, const RunState& state) {
  FL_ASSIGN_OR_RETURN(Sections sections, ToSections(DescribeModel(model, format)));
  sections[kRunSection] = state.ToText();
  return sections;
}

}  // namespace flotilla
