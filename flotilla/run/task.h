// What a run trains: the part of a training run that depends on the kind of data. Rows train a
// graph (row_task.h), text trains word vectors (word2vec_task.h). Everything else (epochs, saves,
// resuming, reports, the job) is the same for all of them (run.h).
//
//   Prepare -> Start -> Settings -> OpenData -> TrainEpoch, Test, .. -> Finish
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/launch/job.h"
#include "flotilla/run/epoch_shares.h"
#include "flotilla/run/terminal.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// The run that a task belongs to, after it has joined its job. Everything outlives the task's use.
struct TaskRun {
  TrainerJob* job = nullptr;
  Terminal* terminal = nullptr;
  const Interrupt* interrupt = nullptr;  // ends every wait for data

  // Steps of a resumed training that its global step does not count: a model of a GEO job has none.
  int64_t earlier_steps = 0;

  // The callbacks of the training loop (TrainerOptions).
  std::function<void(const Progress&)> on_progress;
  std::function<void(int64_t number, const std::string& text)> on_bad_batch;
  std::function<bool()> want_pause;
  std::function<Status()> at_pause;
  std::function<bool()> stop;
  std::function<bool()> cancelled;

  bool first() const { return job->group->trainer() == 0; }
  bool alone() const { return job->group->trainers() == 1; }
};

// Called by one thread, in the order above. Errors name the file or the flag.
class Task {
 public:
  virtual ~Task() = default;

  // Creates the model, before the job is joined.
  virtual Status Prepare(Terminal& terminal, const Interrupt* interrupt) = 0;
  // REQUIRES, like the methods below: Prepare has succeeded.
  virtual const Model& model() const = 0;
  // The number of epochs, where the options of the run leave it open.
  virtual int64_t epochs() const { return 1; }
  // Adds to the options of the job what this kind of model needs.
  virtual void SetJob(JobOptions* /*job*/) const {}
  // Further arguments for the processes of a job on this machine, so that they need not repeat the
  // work of Prepare.
  virtual StatusOr<std::vector<std::string>> ArgsForJob(const std::string& /*log_dir*/) const {
    return std::vector<std::string>();
  }

  // Whether a model with these sections, which was loaded to start from, fits the data of this run.
  virtual Status CheckStart(const Sections& /*sections*/) const { return absl::OkStatus(); }
  // The parameters have their initial values, or those of a model: writes what is still missing.
  // Collective. `run` must outlive the task.
  virtual Status Start(const TaskRun* run) = 0;

  // The options that determine which data makes up which batch, by flag name: a position inside an
  // epoch is valid only for the same.
  virtual StatusOr<std::map<std::string, std::string>> Settings() = 0;
  // A description of the test data that is compared when the run is resumed; empty: none, or not
  // known. After Settings.
  virtual std::string test_data() const { return {}; }
  // Opens this trainer's share of the data, unless OpenRest has opened just that. Collective.
  virtual Status OpenData() = 0;
  // Opens these shares of the training data instead (possibly none), to finish an epoch that
  // another number of trainers began. An error if the options of this run do not divide the data.
  // Collective. REQUIRES: shares.count > 0; a task of this kind has saved them.
  virtual Status OpenRest(const EpochShares& /*shares*/) {
    return absl::InternalError("the data of this task is not divided into shares");
  }
  // What was opened; its count is 0 if no other trainer could finish this one's epoch.
  virtual EpochShares shares() const { return {}; }
  // Rows or words of an epoch of this trainer; 0: unknown.
  virtual int64_t epoch_rows() const = 0;
  virtual double load_seconds() const = 0;
  // Bytes of the data that was read into memory, as far as they are known.
  virtual int64_t memory_bytes() const { return 0; }
  // Whether it is read once and kept; otherwise again in every epoch.
  virtual bool in_memory() const = 0;
  // What data consists of: "rows", or "words" of a text.
  virtual std::string_view unit() const { return "rows"; }

  // Trains an epoch, or the rest of it from a position; `before` is then the report of its part
  // before the position, and the result covers both.
  virtual StatusOr<Report> TrainEpoch(int64_t epoch, const std::optional<DatasetPosition>& position,
                                      const Report& before) = 0;
  // In a pause, or after an epoch: the position in the data, and the report of the epoch so far.
  virtual DatasetPosition position() const = 0;
  virtual Report so_far() const = 0;
  virtual DatasetCounts counts() const = 0;
  // Adds the metrics of the current epoch so far. Thread-safe.
  virtual void AddMetrics(Progress* /*progress*/) const {}

  virtual bool has_test() const { return false; }
  // Scores the test data with the current parameters. REQUIRES: has_test().
  virtual StatusOr<Report> Test() { return Report(); }

  // The sections of a saved model besides the state of the run.
  virtual StatusOr<Sections> sections() const = 0;

  // Whether a stopped run can be continued (--resume).
  virtual bool can_resume() const { return true; }

  // Whether the run has a result besides the models in --out.
  virtual bool has_results() const { return false; }
  // Writes and measures them, at the end of the run. Called by trainer 0 only.
  virtual Status Finish(bool /*stopped*/) { return absl::OkStatus(); }
};

}  // namespace flotilla
