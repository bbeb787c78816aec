// Everything that a training run can be told, as plain values. train_flags.h fills it from a
// command line; train_run.h does what it says.
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
  std::vector<std::string> train;  // as dataset/file_list.h takes them
  std::vector<std::string> test;   // the same; may be empty
  ParserSpec format;               // without a name: the model's own
  bool ignore_format = false;      // do not ask whether a saved model's rows were made alike
  bool in_memory = true;           // otherwise files are read again in every epoch
  bool shuffle = true;             // in memory: each epoch in an order of its own
  bool global_shuffle = false;     // in memory: rows are first spread over all trainers at random
  int64_t shuffle_rows = 0;        // not in memory: shuffle within windows of so many rows
  bool drop_last = false;          // leave out a short last batch
  int64_t max_bad_rows = 0;
  int readers = 1;  // files read at the same time: for commands and compressed files
  std::string pipe_command;
  int64_t pipe_timeout_seconds = 60;  // without output from the command
  SchemeCommands schemes = {{"hdfs", "hadoop fs -cat"}};
  std::string cache;  // directory of the binary cache; empty: none
};

// What is kept of a run.
struct KeepOptions {
  std::string out;               // directory of the models; empty: none are written
  int64_t every_epochs = 1;      // 0: not at the ends of epochs, only at the end of the run
  int64_t every_steps = 0;       // also every so many steps; 0: not
  double every_minutes = 0;      // also every so many minutes; 0: not
  int64_t keep = 3;              // the newest so many, and the best; 0: all
  bool optimizer_state = true;   // needed to go on training
  bool resume = false;           // go on with the newest model in `out`, if there is one
  bool overwrite = false;        // replace the models of another run in `out`
  std::string init_model;        // start from the parameters of this model, unless resumed
  bool fresh_optimizer = false;  // .. but not from the optimizer's state and step
  bool allow_missing = false;    // .. of which some may be missing, or too many
};

// What a person sees of a run.
struct ViewOptions {
  bool json = false;            // results as one object
  bool log_json = false;        // progress as objects, one a line
  std::string plot;             // picture of the run's curves (.svg); empty: none
  double progress_seconds = 5;  // between plain progress lines
};

// The process's part in a job with servers.
struct FleetOptions {
  Role role;           // local: one process, or the one that starts the others
  JobOptions job;      // mode, servers' options
  int server_num = 0;  // start so many servers here; 0: none
  int worker_num = 0;  // .. and so many trainers
  int start_port = 0;  // of the servers that are started; 0: any that are free
  std::string log_dir = "log";
  int64_t start_timeout_seconds = 300;
  bool split_files = true;  // trainers share the files; otherwise each reads all it is given
  std::string status_file;  // where a trainer leaves its figures for its launcher
  std::string result_file;  // where trainer 0 leaves the results for its launcher
};

struct TrainOptions {
  std::string model_name;  // for reports
  int64_t batch_size = 1000;
  int64_t epochs = 1;
  int threads = 1;
  uint64_t seed = 0;
  bool deterministic = false;
  int64_t early_stop = 0;  // end after so many epochs without a better test AUC; 0: do not
  FleetOptions fleet;
  DataOptions data;
  KeepOptions keep;
  ViewOptions view;
};

}  // namespace flotilla
