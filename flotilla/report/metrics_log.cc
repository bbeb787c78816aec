#include "flotilla/report/metrics_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "flotilla/base/task_moment.h"

namespace flotilla {
namespace {

constexpr char kAside[] = ".new";

using Json = nlohmann::ordered_json;

Status IoError(const std::string& path, std::string_view what) {
  const int error = errno;
  return error == ENOSPC || error == EDQUOT
             ? ResourceExhausted("{}: {}: {}", path, what, strerror(error))
             : FailedPrecondition("{}: {}: {}", path, what, strerror(error));
}

Json LineOf(std::string_view kind) {
  return {{"time", JsonTime(std::chrono::system_clock::now())}, {"kind", std::string(kind)}};
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Truncates the file after the last newline.
Status CutUnfinishedLine(const std::string& path, int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return IoError(path, "cannot read its size");
  char buffer[4096];
  off_t end = info.st_size;
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(sizeof(buffer)));
    const ssize_t count = pread(fd, buffer, static_cast<size_t>(end - begin), begin);
    if (count != end - begin) return IoError(path, "cannot read its last line");
    const std::string_view text(buffer, static_cast<size_t>(count));
    const size_t newline = text.rfind('\n');
    end = newline == std::string_view::npos ? begin : begin + static_cast<off_t>(newline) + 1;
    if (newline != std::string_view::npos) break;
  }
  if (end != info.st_size && ftruncate(fd, end) != 0) {
    return IoError(path, "cannot remove its unfinished last line");
  }
  return absl::OkStatus();
}

std::optional<MetricsPoint::Kind> KindOf(const std::string& name) {
  if (name == "train") return MetricsPoint::Kind::kTrain;
  if (name == "epoch") return MetricsPoint::Kind::kEpoch;
  if (name == "test") return MetricsPoint::Kind::kTest;
  return std::nullopt;
}

// The keys of lines that are not metrics.
constexpr std::string_view kLineKeys[] = {
    "time",       "kind",    "epoch", "step",          "rows",
    "skipped",    "seconds", "loss",  "learning_rate", "examples_per_second",
    "bad_batches"};

double FigureOf(const Json& json) { return json.is_number() ? json.get<double>() : kUndefined; }

int64_t Whole(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

std::string Text(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

// Adds the metrics of a line: each key that ends with _window after that of its metric.
void TakeMetrics(const Json& json, MetricsPoint* point) {
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(kLineKeys, key) != std::end(kLineKeys)) continue;
    if (!value.is_number() && !value.is_null()) continue;
    const bool is_window =
        point->kind == MetricsPoint::Kind::kTrain && key.ends_with(kWindowSuffix);
    const std::string name = key.substr(0, key.size() - (is_window ? kWindowSuffix.size() : 0));
    if (is_window && HasMetric(point->metrics, name)) {
      point->window_metrics.emplace_back(name, FigureOf(value));
    } else {
      point->metrics.emplace_back(key, FigureOf(value));
    }
  }
}

// Takes one parsed line.
void TakeLine(const Json& json, std::vector<MetricsPoint>* points) {
  const int64_t step = Whole(json, "step");
  if (Text(json, "event") == kResumeEvent) {
    std::erase_if(*points, [step](const MetricsPoint& point) { return point.step > step; });
  }
  const auto kind = KindOf(Text(json, "kind"));
  if (!kind) return;
  MetricsPoint& point = points->emplace_back();
  point.kind = *kind;
  point.epoch = Whole(json, "epoch");
  point.step = step;
  if (const auto loss = json.find("loss"); loss != json.end()) point.loss = FigureOf(*loss);
  TakeMetrics(json, &point);
}

}  // namespace

StatusOr<std::unique_ptr<MetricsLog>> MetricsLog::Open(const std::string& path,
                                                       MetricsLogOptions options) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error) {
    return FailedPrecondition("{}: cannot create the directory: {}", path, error.message());
  }
  const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (options.append ? 0 : O_TRUNC);
  const bool aside = options.aside && std::filesystem::exists(path, error);
  const int fd = open((aside ? path + kAside : path).c_str(), flags, 0644);
  if (fd < 0) return IoError(path, "cannot open it for writing");
  std::unique_ptr<MetricsLog> log(new MetricsLog(path, aside, fd));
  FL_RETURN_IF_ERROR(CutUnfinishedLine(path, fd));
  return log;
}

Status MetricsLog::Publish() {
  MutexLock lock(mutex_);
  if (!std::exchange(aside_, false)) return absl::OkStatus();
  if (std::rename((path_ + kAside).c_str(), path_.c_str()) == 0) return absl::OkStatus();
  return IoError(path_, "cannot replace it");
}

MetricsLog::~MetricsLog() { close(fd_); }

Status MetricsLog::WriteTrain(const Progress& progress) {
  Json json = LineOf("train");
  json["epoch"] = progress.epoch;
  json["step"] = progress.step;
  json["rows"] = progress.rows;
  json["loss"] = progress.loss;
  for (const auto& [name, value] : progress.metrics) {
    json.emplace(name, value);
    if (!HasMetric(progress.window_metrics, name)) continue;
    json.emplace(name + std::string(kWindowSuffix), MetricValue(progress.window_metrics, name));
  }
  json["learning_rate"] = progress.learning_rate;
  json["examples_per_second"] = progress.examples_per_second;
  return WriteLine(Dump(json));
}

Status MetricsLog::WriteEpoch(int64_t epoch, int64_t step, const Report& report) {
  return WriteReport("epoch", epoch, step, report);
}

Status MetricsLog::WriteTest(int64_t epoch, int64_t step, const Report& report) {
  return WriteReport("test", epoch, step, report);
}

Status MetricsLog::WriteReport(std::string_view kind, int64_t epoch, int64_t step,
                               const Report& report) {
  Json json = LineOf(kind);
  json["epoch"] = epoch;
  json["step"] = step;
  json["rows"] = report.rows;
  json["skipped"] = report.skipped;
  json["seconds"] = report.seconds;
  json["loss"] = report.loss;
  json["bad_batches"] = report.bad_batches;
  // A metric that has one of the names above does not replace it.
  for (const auto& [name, value] : report.metrics) json.emplace(name, value);
  return WriteLine(Dump(json));
}

Status MetricsLog::WriteEvent(std::string_view event, int64_t step, std::string_view detail) {
  Json json = LineOf("event");
  json["event"] = std::string(event);
  json["step"] = step;
  if (!detail.empty()) json["detail"] = std::string(detail);
  return WriteLine(Dump(json));
}

Status MetricsLog::WriteLine(const std::string& line) {
  MutexLock lock(mutex_);
  const off_t before = lseek(fd_, 0, SEEK_END);
  ssize_t written = 0;
  do {
    written = write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) return absl::OkStatus();
  if (written >= 0) errno = ENOSPC;  // a short write to a file means that the disk is full
  const Status status = IoError(path_, "cannot write a line");
  // Best effort: remove the partial line, so that the next line does not follow it.
  if (written > 0 && before >= 0 && ftruncate(fd_, before) != 0) return status;
  return status;
}

StatusOr<std::vector<MetricsPoint>> ReadMetrics(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("{}: cannot open it: {}", path, strerror(errno));
  std::vector<MetricsPoint> points;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (file.eof()) break;  // no newline: the process was killed while writing
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) {
      return InvalidArgument("{}:{}: expected a JSON object, found '{}'", path, number,
                             line.substr(0, 80));
    }
    TakeLine(json, &points);
  }
  return points;
}

}  // namespace flotilla
