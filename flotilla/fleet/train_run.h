// One training run in this process: reads the data, trains epoch after epoch, tests after each. It
// prints only progress; train_report.h formats the results.
#pragma once

#include <cstdint>
#include <optional>

#include "flotilla/base/status.h"
#include "flotilla/fleet/run_dir.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/report/summary.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct TrainResult {
  Report train;                // last epoch: each batch is scored before its update
  std::optional<Report> test;  // after the last epoch
  int64_t examples = 0;        // trained on, over all epochs and trainers
  RunSummary summary;          // of all epochs of this trainer
  double best_auc = -1;        // best test AUC after any epoch; -1: none
  int64_t best_epoch = -1;     // the epoch of best_auc; -1: none, or unknown
  int64_t last_epoch = -1;     // last completed epoch; -1: none
  int64_t steps = 0;           // number of updates
  int64_t table_rows = 0;      // live rows of all tables; 0 if they are on servers
  bool stopped = false;        // by a signal, before the end of the last epoch
};

// The options for opening --out.
RunDirOptions RunDirOf(const KeepOptions& keep, const Terminal& terminal);

// Errors name the file or the flag. REQUIRES: model.graph.status().ok().
StatusOr<TrainResult> RunTraining(const TrainOptions& options, const Model& model,
                                  Terminal& terminal);

}  // namespace flotilla
