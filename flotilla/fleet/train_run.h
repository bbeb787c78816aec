// One training run in this process: reads the data, trains epoch after epoch, tests after each. It
// prints nothing but progress; train_report.h has the results' form.
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
  Report train;  // of the last epoch: every batch was scored before it was learned from
  std::optional<Report> test;  // after the last epoch
  int64_t examples = 0;        // trained on, over all epochs and trainers
  RunSummary summary;          // of all epochs, of this trainer
  double best_auc = -1;        // of the test rows after any epoch; -1: none
  int64_t best_epoch = -1;     // after which; -1: none, or not known
  int64_t last_epoch = -1;     // that was completed; -1: none
  int64_t steps = 0;           // updates
  int64_t table_rows = 0;      // live, of all tables; 0 where they live on servers
  bool stopped = false;        // by a signal, before the last epoch ended
};

// How --out is to be opened.
RunDirOptions RunDirOf(const KeepOptions& keep, const Terminal& terminal);

// Errors name the file or the flag. REQUIRES: model.graph.status().ok().
StatusOr<TrainResult> RunTraining(const TrainOptions& options, const Model& model,
                                  Terminal& terminal);

}  // namespace flotilla
