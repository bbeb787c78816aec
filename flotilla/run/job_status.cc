#include "flotilla/run/job_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/human.h"
#include "flotilla/launch/local_cluster.h"
#include "flotilla/report/progress.h"

namespace flotilla {
namespace {

using Json = nlohmann::ordered_json;

// A trainer without an update for this long is testing, saving or waiting: its speed counts as 0.
constexpr int64_t kStaleNanos = 3'000'000'000;

// Priorities by which a narrow terminal drops fields: the highest first.
// Of fields of one rank the last is dropped first.
enum Rank { kLeft = 1, kShare, kLoss, kMetric, kTrainers, kCount };

std::string Content(const std::string& path, size_t begin = 0) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  if (!file) return {};
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string TrainersText(std::span<const TrainerStatus> statuses, int trainers) {
  const size_t told = statuses.size();
  const auto idle = std::count_if(statuses.begin(), statuses.end(),
                                  [](const TrainerStatus& s) { return s.epoch_count == 0; });
  return fmt::format("{}{} {}{}",
                     told < static_cast<size_t>(trainers) ? fmt::format("{} of ", told) : "",
                     trainers, trainers == 1 ? "trainer" : "trainers",
                     idle > 0 ? fmt::format(" ({} without rows)", idle) : "");
}

// The mean of the known values of figure(status), weighted by the counts; NaN if none is known.
template <typename Figure>
double WeightedMean(std::span<const TrainerStatus> statuses, Figure figure) {
  double sum = 0, weights = 0;
  for (const TrainerStatus& status : statuses) {
    const double value = figure(status);
    if (std::isnan(value) || status.count <= 0) continue;
    sum += status.count * value;
    weights += status.count;
  }
  return sum / weights;
}

std::string TextOf(std::string_view name, double value) {
  return std::isnan(value) ? "" : fmt::format("{} {:.4f}", name, value);
}

// The metrics of the trainers, which all train one model; one without rows may know none.
std::vector<TaskField> MetricFields(std::span<const TrainerStatus> statuses) {
  const auto most = std::max_element(statuses.begin(), statuses.end(),
                                     [](const TrainerStatus& a, const TrainerStatus& b) {
                                       return a.metrics.size() < b.metrics.size();
                                     });
  std::vector<TaskField> fields;
  for (const auto& [name, unused] : most->metrics) {
    const double mean = WeightedMean(statuses, [&key = name](const TrainerStatus& status) {
      return MetricValue(status.metrics, key);
    });
    const std::string title = (statuses.size() > 1 ? "mean " : "") + DisplayName(name);
    fields.push_back({name, mean, TextOf(title, mean), kMetric});
  }
  return fields;
}

}  // namespace

std::string TrainerStatus::ToText() const {
  Json json = {{"unit", unit},
               {"epoch", epoch},
               {"epochs", epochs},
               {"count", count},
               {"epoch_count", epoch_count},
               {"per_second", per_second},
               {"loss", loss},
               {"metrics", Json::object()},
               {"seconds_left", seconds_left}};
  for (const auto& [name, value] : metrics) json["metrics"][name] = value;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool TrainerStatus::FromText(std::string_view text, TrainerStatus* status) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto value_of = [](const Json& figure) {
    return figure.is_number() ? figure.get<double>() : kUnknown;
  };
  const auto number = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() ? value_of(*found) : kUnknown;
  };
  const auto count = [&](const char* key) {
    const double value = number(key);
    return std::isnan(value) ? 0 : value;
  };
  const auto unit = json.find("unit");
  if (unit == json.end() || !unit->is_string()) return false;
  *status = {.unit = unit->get<std::string>(),
             .epoch = static_cast<int64_t>(count("epoch")),
             .epochs = static_cast<int64_t>(count("epochs")),
             .count = count("count"),
             .epoch_count = number("epoch_count"),
             .per_second = number("per_second"),
             .loss = number("loss"),
             .seconds_left = number("seconds_left")};
  const auto metrics = json.find("metrics");
  if (metrics == json.end() || !metrics->is_object()) return true;
  for (const auto& [name, value] : metrics->items()) {
    status->metrics.emplace_back(name, value_of(value));
  }
  return true;
}

void WriteStatus(const std::string& path, const TrainerStatus& status) {
  if (!path.empty()) std::ofstream(path) << status.ToText() << "\n";
}

void AddStatusLine(const std::string& path, std::string_view line) {
  if (!path.empty()) std::ofstream(StatusLinesFile(path), std::ios::app) << line << "\n";
}

TaskMoment JobMoment(std::span<const TrainerStatus> statuses, int trainers) {
  const auto slowest = std::min_element(
      statuses.begin(), statuses.end(),
      [](const TrainerStatus& a, const TrainerStatus& b) { return a.epoch < b.epoch; });
  double count = 0, all = 0, rate = 0, left = 0;
  bool moves = false;
  for (const TrainerStatus& status : statuses) {
    // A trainer that is an epoch ahead has completed this one.
    const bool ahead = status.epoch > slowest->epoch && !std::isnan(status.epoch_count);
    count += ahead ? status.epoch_count : status.count;
    all += status.epoch_count;
    if (!std::isnan(status.per_second)) {
      moves = true;
      rate += status.per_second;
    }
    if (!std::isnan(status.seconds_left)) left = std::max(left, status.seconds_left);
  }
  if (!moves) rate = TrainerStatus::kUnknown;
  // The time left is unknown while some trainers have not reported anything.
  const bool complete = statuses.size() == static_cast<size_t>(trainers) && all > 0;
  const double share = complete ? std::min(count / all, 1.0) : TrainerStatus::kUnknown;
  if (!complete || left == 0) left = TrainerStatus::kUnknown;
  const double loss =
      WeightedMean(statuses, [](const TrainerStatus& status) { return status.loss; });
  const std::string& unit = slowest->unit;
  const std::string of_rate(RateUnit(unit));
  const std::string of = slowest->epochs > 1 ? fmt::format(" of {}", slowest->epochs) : "";
  TaskMoment moment{.task = "job", .fields = {}, .share = std::isnan(share) ? -1 : share};
  moment.fields = {
      {"epoch", static_cast<double>(slowest->epoch), fmt::format("epoch {}{}", slowest->epoch, of)},
      {"percent", 100 * share, std::isnan(share) ? "" : HumanShare(share), kShare},
      {"trainers", static_cast<double>(statuses.size()), TrainersText(statuses, trainers),
       kTrainers},
      {unit, count, HumanCount(count) + " " + unit, kCount},
      {of_rate + "_per_second", rate,
       std::isnan(rate) ? "" : fmt::format("{} {}/s", HumanCount(rate), of_rate)},
      {"loss", loss, TextOf("loss", loss), kLoss}};
  for (TaskField& field : MetricFields(statuses)) moment.fields.push_back(std::move(field));
  moment.fields.push_back(
      {"seconds_left", left, std::isnan(left) ? "" : HumanSeconds(left) + " left", kLeft});
  return moment;
}

JobView::JobView(std::vector<std::string> files, const Clock* clock) : clock_(clock) {
  for (std::string& path : files) trainers_.push_back({.path = std::move(path)});
}

bool JobView::Look() {
  bool any = false;
  for (Trainer& trainer : trainers_) {
    std::string text = Content(trainer.path);
    TrainerStatus status;
    if (text != trainer.text && TrainerStatus::FromText(text, &status)) {
      trainer.text = std::move(text);
      trainer.changed_nanos = clock_->NowNanos();
      trainer.status = std::move(status);
      trainer.told = true;
    }
    any = any || trainer.told;
  }
  return any;
}

TaskMoment JobView::moment() const {
  const int64_t now = clock_->NowNanos();
  std::vector<TrainerStatus> statuses;
  for (const Trainer& trainer : trainers_) {
    if (!trainer.told) continue;
    statuses.push_back(trainer.status);
    if (now - trainer.changed_nanos > kStaleNanos) {
      statuses.back().per_second = TrainerStatus::kUnknown;
    }
  }
  return JobMoment(statuses, static_cast<int>(trainers_.size()));
}

std::vector<std::string> JobView::NewLines() {
  std::vector<std::string> lines;
  for (Trainer& trainer : trainers_) {
    const std::string text = Content(StatusLinesFile(trainer.path), trainer.lines_read);
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      lines.push_back(text.substr(begin, end - begin));
      trainer.lines_read += end + 1 - begin;
    }
  }
  return lines;
}

}  // namespace flotilla
