// All options of a training run on rows, as plain values. fleet/train_flags.h fills them from a
// command line; row_task.h reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/dataset/file_list.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/run/run_options.h"
#include "flotilla/schema/features.h"

namespace flotilla {

// Where rows come from and how they are read.
struct DataOptions {
  std::vector<std::string> train;  // paths and patterns (dataset/file_list.h)
  std::vector<std::string> test;   // the same; may be empty
  ParserSpec format;               // empty name: the model's own
  // For models that take their inputs from the data (row_features.h).
  std::string schema;             // file, or name of a built-in schema; empty: see row_features.h
  std::string label;              // column of the label; empty: the schema's
  std::optional<LabelTask> task;  // what the label asks for; not set: its values decide
  std::string rows;               // file with the result of another process; empty: none
  bool ignore_format = false;     // do not compare the format with that of a saved model
  bool in_memory = true;          // otherwise files are read again in every epoch
  bool shuffle = true;            // in memory: another order in each epoch
  bool global_shuffle = false;    // in memory: rows are first spread over all trainers at random
  int64_t shuffle_rows = 0;       // not in memory: window of the shuffle; 0: no shuffle
  bool drop_last = false;         // leave out the last batch if it is short
  int64_t max_bad_rows = 0;
  int readers = 1;  // files read in parallel: for commands and compressed files
  std::string pipe_command;
  int64_t pipe_timeout_seconds = 60;  // without output from the command
  SchemeCommands schemes = {{"hdfs", "hadoop fs -cat"}};
  std::string cache;  // directory of the binary cache; empty: none
  // Parts of the training files per trainer, which fast trainers take from slow ones; 0: chosen by
  // CountShares (file_shares.h), 1: each trainer has its own.
  int shares = 0;
};

// A batch that a single row has spoilt should not end a job of hours, and a model that diverges
// spoils every batch, so that a few more end its run soon.
inline constexpr int64_t kMaxBadBatches = 10;

struct TrainOptions : RunOptions {
  int64_t batch_size = 1000;  // 0: chosen with the model (RowModel)
  // Batches per epoch and trainer whose loss or gradients are NaN or infinite that are left out and
  // counted (trainer/bad_batch.h); one more is an error.
  int64_t max_bad_batches = kMaxBadBatches;
  DataOptions data;
};

}  // namespace flotilla
