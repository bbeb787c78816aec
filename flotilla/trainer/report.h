// What a trainer tells: where an epoch stands, and what it or an evaluation gave.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/trainer/train_step.h"

namespace flotilla {

struct Progress {
  int64_t epoch = 0;
  int64_t batches = 0;
  int64_t rows = 0;
  double loss = 0;  // of the latest batch, per row
  double seconds = 0;
};

struct Report {
  int64_t rows = 0;
  int64_t batches = 0;
  int64_t skipped = 0;  // bad rows that the dataset left out
  int64_t dropped = 0;  // rows of a short last batch, left out because the options say so
  std::vector<std::string> bad_rows;  // the first few of the skipped, with their place
  bool stopped = false;               // ended early because TrainerOptions::stop asked for it
  // Per row: a loss that sums over the batch is divided by the rows, one that averages is weighted.
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;  // in the order of Model::metrics
  double seconds = 0;                                   // from the first read to the last update
  StageTimes times;                                     // summed over workers

  // The metric of that name, NaN if there is none.
  double Metric(const std::string& name) const {
    for (const auto& [key, value] : metrics) {
      if (key == name) return value;
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace flotilla
