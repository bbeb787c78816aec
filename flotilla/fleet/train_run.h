// One training run in this process: reads the data, trains epoch after epoch, tests after each. It
// prints nothing but progress; train_report.h has the results' form.
#pragma once

#include <cstdint>
#include <optional>

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct TrainResult {
  Report train;  // of the last epoch: every batch was scored before it was learned from
  std::optional<Report> test;  // after the last epoch
  int64_t examples = 0;        // trained on, over all epochs
  double load_seconds = 0;     // reading and parsing the training rows into memory
  double train_seconds = 0;    // of all epochs, without tests
  StageTimes times;            // of all epochs, summed over workers
  int64_t steps = 0;           // updates
  int64_t table_rows = 0;      // live, of all tables
};

// Errors name the file or the flag. REQUIRES: model.graph.status().ok().
StatusOr<TrainResult> RunTraining(const TrainOptions& options, const Model& model,
                                  Terminal& terminal);

}  // namespace flotilla
