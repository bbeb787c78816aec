// All options of a training run, as plain values. train_flags.h fills them from a command line;
// train_run.h carries out the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/dataset/file_list.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/role.h"

namespace flotilla {

// Where rows come from and how they are read.
struct DataOptions {
  std::vector<std::string> train;  // paths and patterns (dataset/file_list.h)
  std::vector<std::string> test;   // the same; may be empty
  ParserSpec format;               // empty name: the model's own
  bool ignore_format = false;      // do not compare the format with that of a saved model
  bool in_memory = true;           // otherwise files are read again in every epoch
  bool shuffle = true;             // in memory: another order in each epoch
  bool global_shuffle = false;     // in memory: rows are first spread over all trainers at random
  int64_t shuffle_rows = 0;        // not in memory: window of the shuffle; 0: no shuffle
  bool drop_last = false;          // leave out the last batch if it is short
  int64_t max_bad_rows = 0;
  int readers = 1;  // files read in parallel: for commands and compressed files
  std::string pipe_command;
  int64_t pipe_timeout_seconds = 60;  // without output from the command
  SchemeCommands schemes = {{"hdfs", "hadoop fs -cat"}};
  std::string cache;  // directory of the binary cache; empty: none
};

// Which models a run saves, and from which it starts.
struct KeepOptions {
  std::string out;               // directory of the models; empty: none are written
  int64_t every_epochs = 1;      // 0: not at the ends of epochs, only at the end of the run
  int64_t every_steps = 0;       // also after every N steps; 0: never
  double every_minutes = 0;      // also after every N minutes; 0: never
  int64_t keep = 3;              // number of recent models to keep, besides the best; 0: all
  bool optimizer_state = true;   // needed to continue training
  bool resume = false;           // continue from the newest model in `out`, if there is one
  bool overwrite = false;        // replace the models of another run in `out`
  std::string init_model;        // start from the parameters of this model, unless resumed
  bool fresh_optimizer = false;  // with init_model: without its optimizer state and step
  bool allow_missing = false;    // with init_model: it may lack parameters, or have more
};

// What a run shows on the console.
struct ViewOptions {
  bool json = false;            // results as one JSON object
  bool log_json = false;        // progress as JSON objects, one per line
  std::string plot;             // plot of the curves of the run (.svg); empty: none
  double progress_seconds = 5;  // between plain progress lines
};

// The process's part in a job with servers.
struct FleetOptions {
  Role role;           // local: one process, or the one that starts the others
  JobOptions job;      // mode, servers' options
  int server_num = 0;  // number of servers to start here; 0: none
  int worker_num = 0;  // number of trainers to start here; 0: none
  int start_port = 0;  // first port of the servers to start; 0: any free ports
  std::string log_dir = "log";
  int64_t start_timeout_seconds = 300;
  bool split_files = true;  // each trainer reads its share of the files; else all files
  std::string status_file;  // where a trainer writes its progress for its launcher
  std::string result_file;  // where trainer 0 writes the results for its launcher
};

struct TrainOptions {
  std::string model_name;  // for reports
  int64_t batch_size = 1000;
  int64_t epochs = 1;
  int threads = 1;
  uint64_t seed = 0;
  bool deterministic = false;
  int64_t early_stop = 0;  // stop after N epochs without a better test AUC; 0: never
  FleetOptions fleet;
  DataOptions data;
  KeepOptions keep;
  ViewOptions view;
};

}  // namespace flotilla
