// The results of `flotilla train`, as a table or as one JSON object.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/run/row_task.h"
#include "flotilla/run/run.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

// A table with a column for the training rows and one for the test rows: every metric of the model
// and the loss; then a line if always predicting the mean of the labels would be better; then the
// last and the best epoch; then how the time was spent. `deviation`: of the labels of a regression,
// 0 if it is not known.
std::string ResultTable(const TrainOptions& options, const RunResult& result, double deviation = 0);

// One object on one line; kTrainJsonHelp documents its keys. A figure that is not defined is null.
std::string ResultJson(const TrainOptions& options, const RunResult& result);

// Trains a model of rows (RunAndReport) and prints its results in the form that options.view
// selects.
Status TrainAndReport(const TrainOptions& options, MakeRowModel make, Terminal& terminal);

inline constexpr char kTrainJsonHelp[] =
    R"(--json prints one object with these keys:
  auc, logloss, accuracy       metrics of the test rows after the last epoch; without --test, of the
                               training rows of the last epoch, each scored before the update on it.
                               Null if the model has no such metric. The other metrics of the model
                               (gauc, ne, rmse, mae, ..) and its loss follow under their names
  gauc_groups, gauc_groups_left_out, gauc_rows_left_out, gauc_sample
                               of a gauc: groups that it covers; groups of one class, and their rows
                               with those without a group, which it leaves out; the share of the
                               groups that these figures are of (1: all, the value is exact)
  quality_of                   "test" or "train": the rows that the metrics above are of
  train_auc, train_logloss, .. the same metrics of the training rows, with and without --test
  examples                     rows trained on, over all epochs
  skipped                      bad rows skipped in an epoch
  bad_batches                  batches of all epochs that were left out because their loss or
                               gradients were not finite (--max_bad_batches); their rows are not
                               in examples
  seconds                      from the first read of --data to the last update, without tests
  examples_per_second          examples / seconds
  load_seconds, train_seconds  the two parts of seconds: reading into memory, epochs
  stage_seconds                time of the workers in the epochs by stage: read, pull, compute,
                               push, wait; summed over the workers of all trainers
  test_examples, test_skipped, test_seconds     with --test only
  best_METRIC, best_epoch      the best test value after any epoch of the metric that the model
                               watches (best_auc for the built-in models), and that epoch, with
                               --test only; its model is OUT/best
  last_epoch, out              the last epoch, whose model is OUT/latest; the directory of --out
  stopped                      true if a signal ended the run before its last epoch
  model, epochs, batch_size, trainers, threads, mode, steps, table_rows
                               the configuration (threads: per trainer), the number of updates and
                               of rows in tables)";

}  // namespace flotilla
