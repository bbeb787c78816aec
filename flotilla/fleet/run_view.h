// What a training run tells while it goes on: the live line or progress lines, log lines in the
// tutorials' words, metrics.jsonl, and in the end the picture of its curves.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/throttle.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/report/metrics_log.h"
#include "flotilla/report/progress.h"
#include "flotilla/trainer/report.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {

// Thread-safe. A metrics file that cannot be written is told once and does not stop the run.
class RunView {
 public:
  // Opens DIR.log/metrics.jsonl when models are kept in DIR; a run that resumes appends to it, one
  // that overwrites another replaces it with its first save.
  // REQUIRES: options and terminal outlive the view.
  static StatusOr<std::unique_ptr<RunView>> Make(const TrainOptions* options, Terminal* terminal);

  // Rows of an epoch, for the time left; 0: not known.
  void set_epoch_rows(int64_t rows) { epoch_rows_ = rows; }

  // The first four from one thread at a time.
  void Batch(const Progress& progress, const Trainer& trainer);
  // This trainer has trained its rows of the epoch, of which there may be none; others may go on.
  void ShareDone(int64_t epoch, const Report& report);
  void EpochDone(int64_t epoch, int64_t step, const Report& report);
  void TestDone(int64_t epoch, int64_t step, const Report& report);
  // A model was written: the log of a run that is overwritten gives way.
  void Saved(int64_t step, const std::string& dir);
  // Something worth a line in metrics.jsonl: "resume".
  void Event(std::string_view event, int64_t step, std::string_view detail);

  // Draws the curves, where options say so: DIR.log/curves.svg and --plot.
  Status Draw();

 private:
  RunView(const TrainOptions* options, Terminal* terminal);
  void Keep(const MetricsPoint& point);
  void TellLauncher(const Progress& progress) const;
  // Into the log, and for the launcher.
  void TellLine(const std::string& line) const;
  void CheckWrite(const Status& status);

  // Constant after construction.
  const TrainOptions* const options_;
  Terminal* const terminal_;
  std::unique_ptr<MetricsLog> log_;  // null: no directory for it
  int64_t epoch_rows_ = 0;

  ProgressMeter meter_;
  Throttle point_due_;
  std::mutex mutex_;
  std::vector<MetricsPoint> points_;  // guarded by mutex_
  bool write_failed_ = false;         // guarded by mutex_
};

}  // namespace flotilla
