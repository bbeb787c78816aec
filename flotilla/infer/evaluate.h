// Runs a dataset through a Predictor: how good the model is on these rows, and its scores.
#pragma once

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/infer/predictor.h"
#include "flotilla/metric/calibration.h"

namespace flotilla {

struct EvaluateOptions {
  int threads = 1;
  // Scores go to this file, one a line, in the order of the rows; bad rows that the dataset skips
  // have none. Empty: they go nowhere. A regular file is replaced atomically at the end, and stays
  // as it was after an error; pipes and devices are written directly.
  std::string predictions;
  // .. or to this stream, which gets what was scored before an error.
  std::ostream* predictions_stream = nullptr;
};

struct Evaluation {
  int64_t rows = 0;
  int64_t skipped = 0;                // bad rows that the dataset left out
  std::vector<std::string> bad_rows;  // the first few of them, with their place
  // The model's metrics in their order. A figure that is not defined (one class only) is NaN.
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::string> hints;  // likely causes of metrics that look like a mistake
  // Predicted over actual clicks of what the model's first AUC watches, of all rows and by decile
  // of the score; NaN and empty for a model that has no AUC.
  double calibration = std::numeric_limits<double>::quiet_NaN();
  std::vector<CalibrationPart> deciles;
  double seconds = 0;  // from the first read to the last score

  // The metric of that name, NaN if there is none.
  double Metric(const std::string& name) const;
};

// One pass over the dataset. Metrics start at zero, whatever training counted. Errors: inputs that
// are not the model's, those of the dataset (no rows at all is one) and of Predict, and the file's.
// REQUIRES: the predictor was loaded with_metrics; for predictions the dataset gives rows in order
// (no shuffle, one reader).
StatusOr<Evaluation> Evaluate(const Predictor& predictor, Dataset& dataset, const Clock& clock,
                              const EvaluateOptions& options);

}  // namespace flotilla
