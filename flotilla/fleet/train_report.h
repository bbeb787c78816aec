// The results of `flotilla train`, as a table for people or as one JSON object for machines.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/train_run.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// Lines with a column for the training rows and one for the test rows: every metric of the model by
// its name, and the loss; then the last and the best epoch; then where the time went.
std::string ResultTable(const TrainOptions& options, const TrainResult& result);

// One object on one line; kTrainJsonHelp tells its keys. A figure that is not defined is null.
std::string ResultJson(const TrainOptions& options, const TrainResult& result);

// Runs the training and prints its results, as options.view says.
Status TrainAndReport(const TrainOptions& options, const Model& model, Terminal& terminal);

inline constexpr char kTrainJsonHelp[] =
    R"(--json prints one object with these keys:
  auc, logloss, accuracy       of the test rows after the last epoch; without --test, of the
                               training rows of the last epoch, each scored before it was learned;
                               null where the model has no such metric. Its other metrics by their
                               names, and loss, are there too
  quality_of                   "test" or "train": which of the two it is
  train_auc, train_logloss, .. the latter, always
  examples                     rows trained on, over all epochs
  skipped                      bad rows that were left out in an epoch
  seconds                      from the first read of --data to the last update, without tests
  examples_per_second          examples / seconds
  load_seconds, train_seconds  the two parts of seconds: reading into memory, epochs
  stage_seconds                read, pull, compute, push, wait: where workers spent the epochs,
                               summed over the workers of all trainers
  test_examples, test_skipped, test_seconds     with --test only
  best_auc, best_epoch         the best of the test rows after any epoch, with --test only; its
                               model is OUT/best
  last_epoch, out              the last epoch, whose model is OUT/latest; the directory of --out
  stopped                      a signal ended the run before its last epoch
  model, epochs, batch_size, trainers, threads, mode, steps, table_rows
                               what was run (threads: of each trainer), and how much it made)";

}  // namespace flotilla
