// metrics.jsonl: the history of a run for plots and notebooks, one JSON object per line.
//
//   {"time": "2026-01-31T23:59:59.123Z", "kind": "train", "epoch": 0, "step": 100, "rows": 100000,
//    "loss": .., "auc": .., "auc_window": .., "learning_rate": .., "examples_per_second": ..}
//   {"time": .., "kind": "epoch", "epoch": 0, "step": .., "rows": .., "skipped": .., "seconds": ..,
//    "loss": .., METRIC: ..}          the whole epoch, every batch scored before it was learned
//    from
//   {.. "kind": "test" ..}            the same of the test rows after the epoch
//   {"time": .., "kind": "event", "event": "save", "step": .., "detail": "out/epoch_0"}
//
// A figure that is not defined is null. Steps are global. The event "resume" says that training
// went on from its step: what stands above it with a later step was lost and is not read back.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

inline constexpr std::string_view kResumeEvent = "resume";

struct MetricsLogOptions {
  // Keep what an earlier run wrote and go on behind it; otherwise the file starts empty.
  bool append = false;
  // Leave a file that is there as it is until Publish, and write to PATH.new up to then.
  bool aside = false;
};

// Thread-safe. A line reaches the kernel in one write before the call returns, so a killed process
// leaves whole lines; a rest that a full disk or a crash left is cut off when the file is opened
// for appending.
class MetricsLog {
 public:
  // Makes the directory of `path` if there is none. Errors name the path.
  static StatusOr<std::unique_ptr<MetricsLog>> Open(const std::string& path,
                                                    MetricsLogOptions options = {});
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  // An error (disk full) loses this line and nothing else: later calls may succeed.
  Status WriteTrain(const Progress& progress);
  Status WriteEpoch(int64_t epoch, int64_t step, const Report& report);
  Status WriteTest(int64_t epoch, int64_t step, const Report& report);
  Status WriteEvent(std::string_view event, int64_t step, std::string_view detail = {});

  // Puts a file that was opened `aside` into its place; later calls do nothing.
  Status Publish();

  const std::string& path() const { return path_; }

 private:
  MetricsLog(std::string path, bool aside, int fd)
      : path_(std::move(path)), aside_(aside), fd_(fd) {}
  Status WriteReport(std::string_view kind, int64_t epoch, int64_t step, const Report& report);
  Status WriteLine(const std::string& line);

  const std::string path_;
  bool aside_;  // guarded by mutex_
  const int fd_;
  std::mutex mutex_;  // one line at a time
};

// A line of kind train, epoch or test, as far as curves need it. What was null or missing is NaN.
struct MetricsPoint {
  enum class Kind { kTrain, kEpoch, kTest };
  Kind kind = Kind::kTrain;
  int64_t epoch = 0;
  int64_t step = 0;
  double loss = kUndefined;
  double auc = kUndefined;
  double auc_window = kUndefined;
};

// The points of a file in the order of the lines. A last line without its end is left out, and so
// are kinds and keys that are not known. NotFound when there is no file; InvalidArgument, naming
// the line, where a line is no JSON object of ours.
StatusOr<std::vector<MetricsPoint>> ReadMetrics(const std::string& path);

}  // namespace flotilla
