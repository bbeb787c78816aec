// Runs a dataset through a Predictor: measures the quality of the model on these rows and writes
// its scores.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/kept_texts.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/tensor/metric_values.h"

namespace flotilla {

struct EvaluateOptions {
  int threads = 1;
  // File to write the scores to, one per line, in the order of the rows; bad rows that the dataset
  // skips have no score. Empty: scores are not written. A regular file is replaced atomically at
  // the end and is unchanged after an error; pipes and devices are written directly.
  std::string predictions;
  // Alternatively, the stream to write the scores to, which receives the scores computed before an
  // error.
  std::ostream* predictions_stream = nullptr;
  // Names of the columns of the prediction, all of which are then written; empty: only the last
  // column is. REQUIRES: none, or predictor.columns() of them.
  std::vector<std::string> score_columns;
  // Columns to write beside the scores (prediction_file.h), and their texts. The dataset then has
  // one more input than the model, the last one, with the keys of the texts (CsvOptions::kept).
  std::vector<std::string> kept_columns;
  std::shared_ptr<KeptTexts> kept;
};

struct Evaluation {
  int64_t rows = 0;
  int64_t skipped = 0;                // bad rows that the dataset skipped
  std::vector<std::string> bad_rows;  // the first few bad rows, with their location
  // The model's metrics in their order. A value that is undefined (one class only) is NaN.
  MetricValues metrics;
  MetricValues metric_details;     // figures behind the metrics: MetricSet::Details
  std::vector<std::string> hints;  // likely causes of suspicious metrics
  // Ratio of predicted to actual clicks, over all rows and by decile of the score, of the model's
  // first calibration metric; without one, for the prediction of its first metric that scores
  // clicks (an AUC). NaN and empty without such a metric.
  double calibration = std::numeric_limits<double>::quiet_NaN();
  std::vector<CalibrationPart> deciles;
  double seconds = 0;  // from the first read to the last score

  // The metric of that name, NaN if there is none.
  double Metric(const std::string& name) const;
};

// One pass over the dataset. Metrics, those of predictor.metrics(), start at zero, independently of
// training. Errors: inputs that differ from the model's, those of the dataset (including no rows at
// all) and of Predict, and file errors.
// REQUIRES: the predictor was loaded with_metrics; for predictions the dataset delivers rows in
// order (no shuffle, one reader); kept texts are written to predictions, by this call only.
StatusOr<Evaluation> Evaluate(const Predictor& predictor, Dataset& dataset, const Clock& clock,
                              const EvaluateOptions& options);

}  // namespace flotilla
