// The options of a training run that do not depend on the kind of model, as plain values.
// fleet/run_flags.h fills them from a command line; run.h carries out the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/role.h"

namespace flotilla {

// Which models a run saves, and from which it starts.
struct KeepOptions {
  std::string out;                      // directory of the models; empty: none are written
  int64_t every_epochs = 1;             // 0: not at the ends of epochs, only at the end of the run
  int64_t every_steps = 0;              // also after every N steps; 0: never
  std::optional<double> every_minutes;  // also after every N minutes; not set or 0: never
  int64_t keep = 3;                     // number of recent models to keep, besides the best; 0: all
  bool resume = false;                  // continue from the newest model in `out`, if there is one
  bool overwrite = false;               // replace the models of another run in `out`
  std::string init_model;               // start from the parameters of this model, unless resumed
  bool fresh_optimizer = false;         // with init_model: without its optimizer state and step
  bool allow_missing = false;           // with init_model: it may lack parameters, or have more
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
  int max_restarts = 3;  // of a job that was started here, since its last save
  int64_t start_timeout_seconds = 300;
  bool split_files = true;  // each trainer reads its share of the data; else all files
  bool slice_files = true;  // with split_files: share plain files by size (SliceFiles)
  std::string status_file;  // where a trainer writes its progress for its launcher
  std::string result_file;  // where trainer 0 writes the results for its launcher
};

struct RunOptions {
  std::string model_name;  // for reports
  int64_t epochs = 1;      // 0: as many as the task says (Task::epochs)
  int threads = 1;
  uint64_t seed = 0;
  bool deterministic = false;
  // The metric whose test value decides which model is the best; empty: the one that the model
  // watches.
  std::string watch;
  // Stop after N epochs without a better test value of that metric; 0: never.
  int64_t early_stop = 0;
  // Divide the learning rate by 10 after every N epochs without a better test value; 0: never. Only
  // in modes whose trainers run the optimizer.
  int64_t plateau = 0;
  FleetOptions fleet;
  KeepOptions keep;
  ViewOptions view;
};

// InvalidArgument with the flag and its value: out of range, or of models that no directory is
// given for.
Status CheckRunOptions(const RunOptions& options);
// The same of one number.
Status CheckAtLeastZero(std::string_view flag, int64_t value);

}  // namespace flotilla
