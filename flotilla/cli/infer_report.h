// The results of `flotilla infer`, for people and for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flotilla/fleet/run_saves.h"
#include "flotilla/infer/evaluate.h"

namespace flotilla {

// How one model did.
struct InferResult {
  std::string model;  // its directory
  int64_t step = 0;   // that it was saved at
  // What the training run knew when it saved the model, if a run did.
  std::optional<RunState> run;
  Evaluation evaluation;
  double load_seconds = 0;  // reading the rows into memory, if that was done for this model

  double seconds() const { return load_seconds + evaluation.seconds; }
  double examples_per_second() const;
};

// A figure a line, and a table of the deciles: for one model.
std::string InferTable(const InferResult& result);
// One line: for one of several models.
std::string InferLine(const InferResult& result);
// One object on one line; kInferJsonHelp tells its keys. A figure that is not defined is null.
std::string InferJson(const InferResult& result);

inline constexpr char kInferJsonHelp[] =
    R"(--json prints one object per model, one a line, with these keys:
  model, step                  the directory, and the step at which it was saved
  epoch, test_auc              the last epoch before it was saved, and the test AUC after that epoch
  best_epoch, best_auc         the same of the run's best epoch up to then, whose model is DIR/best;
                               all four are null where they are not known
  auc, logloss, accuracy       of the rows; null where the model has no such metric. Its other
                               metrics follow by their names
  calibration                  predicted over actual clicks; null without an AUC
  deciles                      the same by decile of the score, lowest first: rows, predicted,
                               clicks, calibration
  examples, skipped            rows that were scored, and bad rows that were left out
  seconds                      from the first read to the last score, without loading the model
  examples_per_second          examples / seconds)";

}  // namespace flotilla
