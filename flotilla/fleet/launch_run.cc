#include "flotilla/fleet/launch_run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "flotilla/base/human.h"
#include "flotilla/base/stop_signal.h"

namespace flotilla {
namespace {

// A speed is that of the last seconds (ProgressMeter); so long a file says what is true now.
constexpr double kFreshSeconds = 5;

// What is left of a speed that a file told and that nothing has confirmed since.
double ShareOfSpeed(const std::string& path, std::filesystem::file_time_type now) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return 1;
  const double age = std::chrono::duration<double>(now - written).count();
  return kFreshSeconds / std::max(kFreshSeconds, age);
}

}  // namespace

TaskMoment JobMoment(const std::vector<std::string>& files, std::filesystem::file_time_type now) {
  double rate = 0, rows = 0, loss = 0, auc = 0;
  int64_t epoch = 0, told = 0;
  bool text = false;  // words instead of rows
  for (const std::string& path : files) {
    std::ifstream file(path);
    const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) continue;
    const auto number = [&](const char* key) {
      return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
    };
    ++told;
    text = text || json.contains("words");
    rate += ShareOfSpeed(path, now) * number(text ? "words_per_second" : "examples_per_second");
    rows += number(text ? "words" : "rows");
    // A trainer that has read little says little.
    const double weight = number(text ? "words" : "rows");
    loss += weight * number("loss");
    auc += weight * number("auc");
    epoch = std::max(epoch, static_cast<int64_t>(number("epoch")));
  }
  const auto mean = [&](double sum) { return rows > 0 ? sum / rows : 0; };
  const std::string what = text ? "words" : "rows", of_rate = text ? "words" : "examples";
  TaskMoment moment{.task = "job", .fields = {}, .share = -1};
  moment.fields = {
      {"epoch", static_cast<double>(epoch), fmt::format("epoch {}", epoch), 0},
      {"trainers", static_cast<double>(told), fmt::format("{} trainers", told), 1},
      {what, rows, HumanCount(rows) + " " + what, 2},
      {of_rate + "_per_second", rate, fmt::format("{} {}/s", HumanCount(rate), of_rate), 0},
      {"loss", mean(loss), fmt::format("loss {:.4f}", mean(loss)), 1}};
  if (!text) moment.fields.push_back({"auc", mean(auc), fmt::format("AUC {:.4f}", mean(auc)), 1});
  return moment;
}

Status RunCluster(LocalClusterOptions options, Terminal& terminal) {
  const StopSignal signal;
  LocalCluster cluster(std::move(options), &terminal.clock,
                       [&](std::string_view line) { terminal.log.info("{}", line); });
  FL_ASSIGN_OR_RETURN(const ClusterResult result,
                      cluster.Run([&] { return signal.signal(); },
                                  [&] {
                                    terminal.console.Update([&] {
                                      return JobMoment(
                                          cluster.status_files(),
                                          std::filesystem::file_time_type::clock::now());
                                    });
                                  }));
  terminal.console.EndTask();
  terminal.exit_code = result.exit_code;
  return absl::OkStatus();
}

}  // namespace flotilla
