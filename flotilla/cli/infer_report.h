// The results of `flotilla infer`, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/infer/evaluate.h"
#include "flotilla/run/run_state.h"

namespace flotilla {

// The results of one model.
struct InferResult {
  std::string model;  // its directory
  int64_t step = 0;   // at which it was saved
  // The state of the training run that saved the model, if a run did.
  std::optional<RunState> run;
  Evaluation evaluation;
  double load_seconds = 0;  // reading the rows into memory, if that was done for this model
  // Inputs of the model that the rows do not have. Metrics that need them are in no report.
  std::vector<std::string> absent;

  double seconds() const { return load_seconds + evaluation.seconds; }
  double examples_per_second() const;
};

// One figure per line and a table of the deciles; for a single model.
std::string InferTable(const InferResult& result);
// One line; for one of several models.
std::string InferLine(const InferResult& result);
// One object on one line; kInferJsonHelp documents its keys. A figure that is not defined is null.
std::string InferJson(const InferResult& result);

inline constexpr char kInferJsonHelp[] =
    R"(--json prints one object per model, one per line, with these keys:
  model, step                  the directory, and the step at which it was saved
  epoch, test_METRIC           the last epoch before it was saved, and the test value after that
                               epoch of the metric that the model watches (test_auc for the built-in
                               models)
  best_epoch, best_METRIC      the same for the best epoch of the run so far, whose model is
                               DIR/best; each of the four is null if it is not known, and those of
                               a metric are missing if none is watched
  auc, logloss, accuracy       metrics of the rows, null if the model has no such metric; its other
                               metrics (gauc, ne, rmse, mae, ..) follow under their names; those
                               that need a label or a group that the rows do not have are missing,
                               and so are calibration and deciles
  gauc_groups, gauc_groups_left_out, gauc_rows_left_out, gauc_sample
                               of a gauc: groups that it covers; groups of one class, and their rows
                               with those without a group, which it leaves out; the share of the
                               groups that these figures are of (1: all, the value is exact)
  calibration                  predicted clicks / actual clicks; null without a metric of clicks
                               (auc, gauc, ne, calibration)
  deciles                      calibration by decile of the score, lowest first: rows, predicted,
                               clicks, calibration
  examples, skipped            rows that were scored, and bad rows that were skipped
  seconds                      from the first read to the last score, without loading the model
  examples_per_second          examples / seconds)";

}  // namespace flotilla
