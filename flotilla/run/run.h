// One training run in this process: joins the job, starts from initial values or a model, trains
// epoch after epoch, tests and saves after each. What it trains is a task (task.h). It prints only
// progress; the results are a value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/base/stop_request.h"
#include "flotilla/launch/job.h"
#include "flotilla/report/summary.h"
#include "flotilla/run/run_options.h"
#include "flotilla/run/task.h"
#include "flotilla/run/terminal.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct RunResult {
  Report train;                // last epoch: each batch is scored before its update
  std::optional<Report> test;  // after the last epoch
  int64_t examples = 0;        // rows or words of the data, over all epochs and trainers
  int64_t trained = 0;         // of them, trained on
  RunSummary summary;          // of all epochs of this trainer
  std::string watch;           // the metric that the model watches; empty: none
  double best = kUndefined;    // its best test value after any epoch
  int64_t best_epoch = -1;     // the epoch of best; -1: none, or unknown
  int64_t last_epoch = -1;     // last completed epoch; -1: none
  int64_t steps = 0;           // number of updates
  int64_t table_rows = 0;      // live rows of all tables; 0 if they are on servers
  int64_t failed_saves = 0;    // saves that failed; the last one succeeded
  bool stopped = false;        // by a signal, before the end of the last epoch
};

// The program around a run, where the run is not all of it. Everything outlives the run.
struct RunHost {
  // Ends the run as a signal would, from any thread. Null: signals do (base/stop_signal.h).
  StopRequest* stop = nullptr;
  // The parameters to train, in this process; the run leaves them to the host. Null: its own.
  TrainerJob* job = nullptr;
  // The number of the first epoch, unless the run resumes: with `job`, that of epochs so far.
  // RunOptions::epochs includes them.
  int64_t first_epoch = 0;
  // With `job`: the models in KeepOptions::out are earlier ones of the same parameters, and the run
  // adds to them.
  bool continues = false;
  // What the run tells, each called by one thread at a time, while training continues. Empty:
  // nothing.
  std::function<void(const Progress& progress)> on_progress;
  // After every epoch, with its test if there was one. True: the run ends as after its last epoch.
  // In a job every trainer has it or none, and the wish of one ends the run of all.
  std::function<bool(int64_t epoch, const Report& train, const Report* test)> on_epoch;
};

// Runs in one process, or as a trainer of a job. In one process a stop signal ends the training
// after the current batch: the position is saved in --out, the log says how to continue, and
// terminal.exit_code is set. In a job all trainers save and stop when one gets a signal. Likewise
// if this process passes JobOptions::max_memory, or a server does, but the run then ends with
// ResourceExhausted. Errors name the file or the flag.
StatusOr<RunResult> RunTraining(const RunOptions& options, Task& task, Terminal& terminal,
                                const RunHost& host = {});

// The results as text, with a newline at the end.
using ResultText = std::function<std::string(const RunResult&)>;

// Does what the role of this process asks for: runs the training and prints `text` of its results
// (trainer 0 for all trainers), serves parameters, or starts the processes of a job.
Status RunAndReport(const RunOptions& options, Task& task, const ResultText& text,
                    Terminal& terminal, const RunHost& host = {});

}  // namespace flotilla
