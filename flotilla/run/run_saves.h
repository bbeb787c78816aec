// When a run saves its model: after epochs, every N steps or minutes, when it is stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/run/model_keeper.h"
#include "flotilla/run/run_options.h"
#include "flotilla/run/run_state.h"
#include "flotilla/run/task.h"

namespace flotilla {

class RunSaves {
 public:
  // REQUIRES: everything pointed to outlives the object. Without options.keep.out nothing is saved.
  static StatusOr<std::unique_ptr<RunSaves>> Make(const KeepOptions& options, const Task* task,
                                                  Communicator* communicator, const Clock* clock,
                                                  ModelKeeperOptions keeper_options);

  // Whether a save between two batches is due. Thread-safe.
  bool Due();
  // Saves as DIR/step_N. REQUIRES: training is paused.
  Status SaveStep(const RunState& state);
  // Saves as DIR/epoch_N after that epoch if a save is due; after the `last` epoch always.
  Status SaveEpoch(int64_t epoch, bool best, bool last, const RunState& state);
  // Waits for the running save; returns the status of the last one.
  Status Wait() { return keeper_ == nullptr ? absl::OkStatus() : keeper_->Wait(); }

  // The number of failed saves so far. Thread-safe.
  int64_t failed() const { return keeper_ == nullptr ? 0 : keeper_->failed(); }

  bool enabled() const { return keeper_ != nullptr; }

 private:
  RunSaves(const KeepOptions& options, const Task* task, Communicator* communicator,
           const Clock* clock);
  Status Begin(const std::string& name, bool best, const RunState& state);
  void Restart();

  const KeepOptions options_;
  const Task* const task_;
  Communicator* const communicator_;
  const Clock* const clock_;
  std::unique_ptr<ModelKeeper> keeper_;
  std::atomic<int64_t> next_step_;
  std::atomic<int64_t> next_nanos_;
};

}  // namespace flotilla
