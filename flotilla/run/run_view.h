// The output of a training run: the live line or progress lines, log lines in the wording of the
// tutorials, metrics.jsonl (whose "rows" are words, if it trains on text) and, at the end, the plot
// of its curves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/report/curve_points.h"
#include "flotilla/report/metrics_log.h"
#include "flotilla/report/progress.h"
#include "flotilla/run/run_options.h"
#include "flotilla/run/task.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/throttle.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// Thread-safe. A metrics file that cannot be written is reported once and does not stop the run.
class RunView {
 public:
  // Opens DIR.log/metrics.jsonl if models are saved in DIR; a run that resumes appends to it, a run
  // that overwrites another one replaces it at its first save.
  // `unit` is what data consists of: "rows" or "words". REQUIRES: options and terminal outlive the
  // view.
  static StatusOr<std::unique_ptr<RunView>> Make(const RunOptions* options, std::string unit,
                                                 Terminal* terminal);

  // Rows of an epoch, for the time left; 0: unknown.
  void set_epoch_rows(int64_t rows) { epoch_rows_ = rows; }

  // The first five are called by one thread at a time.
  void Batch(const Progress& progress, const Task& task);
  // A bad batch was left out, the one of this number in the epoch.
  void BadBatch(int64_t number, int64_t step, const std::string& text);
  // This trainer has trained its rows of the epoch (possibly none); others may still be training.
  void ShareDone(int64_t epoch, const Report& report);
  void EpochDone(int64_t epoch, int64_t step, const Report& report);
  void TestDone(int64_t epoch, int64_t step, const Report& report);
  // A model was written: the log of an overwritten run is now replaced.
  void Saved(int64_t step, const std::string& dir);
  // A save failed: `line` is for the user, also on the console of the whole job.
  void SaveFailed(int64_t step, std::string_view cause, const std::string& line);
  // Writes an event, such as "resume", to metrics.jsonl.
  void Event(std::string_view event, int64_t step, std::string_view detail);

  // Plots the curves if the options ask for it: DIR.log/curves.svg, which is not an error if it
  // cannot be written, and --plot.
  Status Draw();

 private:
  RunView(const RunOptions* options, std::string unit, Terminal* terminal);
  void Keep(MetricsPoint point);
  void TellLauncher(const Progress& progress) const;
  // Writes to the log, and to the file for the launcher.
  void TellLine(const std::string& line) const;
  void CheckWrite(const Status& status);

  // Constant after construction.
  const RunOptions* const options_;
  const std::string unit_;
  Terminal* const terminal_;
  std::unique_ptr<MetricsLog> log_;  // null: there is no directory for it
  int64_t epoch_rows_ = 0;

  ProgressMeter meter_;
  Throttle point_due_;
  Mutex mutex_;
  CurvePoints points_ FL_GUARDED_BY(mutex_);
  bool write_failed_ FL_GUARDED_BY(mutex_) = false;
};

}  // namespace flotilla
