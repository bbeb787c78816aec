// The reports of a trainer: the progress of an epoch, and the results of an epoch or evaluation.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "flotilla/tensor/metric_values.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// The progress of an epoch. Unknown counts are 0, unknown figures are NaN; ProgressMeter
// (progress.h) fills the figures that are derived from others.
struct Progress {
  int64_t epoch = 0;   // the first is 0
  int64_t epochs = 0;  // of the run
  int64_t step = 0;    // global: of all trainers and epochs
  int64_t batches = 0;
  int64_t rows = 0;
  int64_t epoch_rows = 0;          // total rows of the epoch
  double read_share = kUndefined;  // of the epoch's input, in [0, 1], if epoch_rows is unknown
  double loss = 0;                 // of the latest batch, per row
  MetricValues metrics;            // of the epoch so far; set by Trainer::AddMetrics
  MetricValues window_metrics;     // of the last batches, for metrics that keep a window
  double learning_rate = kUndefined;
  double seconds = 0;                       // since the epoch began
  double examples_per_second = kUndefined;  // over the last seconds; ProgressMeter
  double seconds_left = kUndefined;  // of the run, of the epoch if epochs is 0; ProgressMeter
};

inline constexpr size_t kBadBatchTexts = 5;  // that a report has

struct Report {
  int64_t rows = 0;     // of text: words
  int64_t trained = 0;  // of them, trained on: fewer where words are down-sampled
  int64_t batches = 0;
  int64_t step = 0;                   // global, after the last update
  int64_t skipped = 0;                // bad rows that the dataset skipped
  int64_t dropped = 0;                // rows of a short last batch that was dropped by option
  std::vector<std::string> bad_rows;  // the first few skipped rows, with their position
  // Batches that were not trained on because their loss or a gradient was NaN or infinite, and
  // their rows, which are not counted in the other figures.
  int64_t bad_batches = 0;
  int64_t bad_batch_rows = 0;
  // The bad batches that count against the limit of a trainer: of reports that were merged, the
  // most of one of them.
  int64_t limited_bad_batches = 0;
  std::vector<std::string> bad_batch_texts;  // of the first few: the cause and where the rows are
  bool stopped = false;                      // ended early because TrainerOptions::stop was true
  // Per trained row: a loss that sums over the batch is divided by the rows, one that averages is
  // weighted. With sample weights, divided by their sum.
  double loss = 0;
  double weight = 0;  // the sum of the sample weights; 0: the model has none
  MetricValues metrics;
  MetricValues metric_details;       // figures behind the metrics: MetricSet::Details
  std::vector<double> metric_state;  // from which metrics are computed: MetricSet::State
  double seconds = 0;                // from the first read to the last update
  StageTimes times;                  // summed over workers
  std::vector<std::string> hints;    // likely causes of metrics that look like a mistake

  // The metric of that name, NaN if there is none.
  double Metric(const std::string& name) const { return MetricValue(metrics, name); }
  // What the sum of the rows' losses is divided by.
  double loss_weight() const { return weight > 0 ? weight : static_cast<double>(trained); }
};

}  // namespace flotilla
