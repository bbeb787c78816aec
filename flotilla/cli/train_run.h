// One training run of the command: reads the data, trains epoch after epoch in this process, tests
// after each. It prints nothing but progress; train_report.h has the results' form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/cli/builtin_models.h"
#include "flotilla/cli/terminal.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct TrainOptions {
  std::string model;
  std::vector<std::string> data;  // files or directories
  std::vector<std::string> test;  // the same; may be empty
  int64_t batch_size = 1000;
  int64_t epochs = 1;
  int threads = 1;
  ModelFlags model_flags;
  CriteoOptions::Numeric numeric = CriteoOptions::Numeric::kSeeds;
  uint64_t seed = 0;
  bool deterministic = false;
  bool in_memory = true;  // otherwise files are read again in every epoch
  bool shuffle = true;    // in memory only
  int64_t max_bad_rows = 0;
};

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

// Errors name the file or the flag. REQUIRES: MakeBuiltinModel(options.model, ..) is ok.
StatusOr<TrainResult> RunTraining(const TrainOptions& options, Terminal& terminal);

}  // namespace flotilla
