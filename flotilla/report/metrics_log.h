// metrics.jsonl: the history of a run for plots and notebooks, one JSON object per line.
//
//   {"time": "2026-01-31T23:59:59.123Z", "kind": "train", "epoch": 0, "step": 100, "rows": 100000,
//    "loss": .., METRIC: .., METRIC_window: .., "learning_rate": .., "examples_per_second": ..}
//   {"time": .., "kind": "epoch", "epoch": 0, "step": .., "rows": .., "skipped": .., "seconds": ..,
//    "loss": .., "bad_batches": .., METRIC: ..}    the whole epoch, each batch scored before its
//                                                  update
//   {.. "kind": "test" ..}            the same for the test rows after the epoch
//   {"time": .., "kind": "event", "event": "save", "step": .., "detail": "out/epoch_0"}
//   {.. "event": "bad batch", "step": .., "detail": ..}   left out by the trainer that writes
//
// METRIC: every metric of the model under its name, e.g. "auc": in "train" lines over the epoch so
// far, and METRIC_window over the last batches if the metric keeps such a window. A metric with the
// name of another key is left out. A figure that is not defined is null. Steps are global. The
// event "resume" says that training continued from its step: lines above it with a later step are
// obsolete and are not read back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/tensor/metric_values.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

inline constexpr std::string_view kResumeEvent = "resume";

struct MetricsLogOptions {
  // Append to the lines of an earlier run; otherwise the file starts empty.
  bool append = false;
  // Leave an existing file unchanged until Publish, and write to PATH.new until then.
  bool aside = false;
};

// Thread-safe. A line reaches the kernel in one write before the call returns, so a killed process
// leaves complete lines; a partial line left by a full disk or a crash is removed when the file is
// opened for appending.
class MetricsLog {
 public:
  // Creates the directory of `path` if it does not exist. Errors name the path.
  static StatusOr<std::unique_ptr<MetricsLog>> Open(const std::string& path,
                                                    MetricsLogOptions options = {});
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // An error (disk full) loses only this line: later calls may succeed.
  Status WriteTrain(const Progress& progress);
  Status WriteEpoch(int64_t epoch, int64_t step, const Report& report);
  Status WriteTest(int64_t epoch, int64_t step, const Report& report);
  Status WriteEvent(std::string_view event, int64_t step, std::string_view detail = {});

  // Moves a file that was opened `aside` to its final path; later calls do nothing.
  Status Publish();

  const std::string& path() const { return path_; }

 private:
  MetricsLog(std::string path, bool aside, int fd)
      : path_(std::move(path)), aside_(aside), fd_(fd) {}
  Status WriteReport(std::string_view kind, int64_t epoch, int64_t step, const Report& report);
  Status WriteLine(const std::string& line);

  const std::string path_;
  bool aside_ FL_GUARDED_BY(mutex_);
  const int fd_;
  Mutex mutex_;  // one line at a time
};

// The part of a line of kind train, epoch or test that curves need. Null or missing figures are
// NaN.
struct MetricsPoint {
  enum class Kind { kTrain, kEpoch, kTest };
  Kind kind = Kind::kTrain;
  int64_t epoch = 0;
  int64_t step = 0;
  double loss = kUndefined;
  MetricValues metrics;
  MetricValues window_metrics;  // of kTrain: METRIC_window by METRIC
};

// The points of a file in the order of the lines. A last line without a newline is ignored, and so
// are unknown kinds. Keys that this header does not name are metrics. NotFound if there is no file;
// InvalidArgument, naming the line, if a line is not a JSON object in this format.
StatusOr<std::vector<MetricsPoint>> ReadMetrics(const std::string& path);

}  // namespace flotilla
