// Keeps the models of a run in its directory: DIR/epoch_N after epochs, DIR/step_N in between, and
// the links DIR/latest and DIR/best. A background thread writes the files while training continues;
// the newest few models and the best one are kept.
//
//   training paused:     keeper.Begin(..)    takes a snapshot (communicator.BeginSave)
//   training continues:  the thread writes it, then moves the links, then removes old models
//
// A save that fails leaves the models and links before it as they are, and does not affect the next
// one. A save does not fail because an old model cannot be removed: that is tried again after the
// next one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"

namespace flotilla {

struct ModelKeeperOptions {
  std::string dir;   // must exist (run_dir.h)
  int64_t keep = 3;  // number of recent models to keep; 0: all
  // Existing models belong to another run: the first save of this run replaces them all.
  bool overwrite = false;
  // Called by the writing thread for every model that was written, for every failed save, and for
  // an old model that cannot be removed.
  std::function<void(const std::string& dir, int64_t step, double seconds)> on_saved;
  std::function<void(const std::string& dir, const Status& status)> on_failed;
  std::function<void(const Status& status)> on_not_removed;
};

// Not thread-safe except for busy() and failed().
class ModelKeeper {
 public:
  // REQUIRES: communicator outlives the keeper.
  ModelKeeper(Communicator* communicator, ModelKeeperOptions options);
  // Waits for the running save.
  ~ModelKeeper();

  // Begins to save the model in its current state, as DIR/NAME; first waits for the running save,
  // if any. With `best` DIR/best will point to it. A failure to write is reported to on_failed and
  // by Wait, and training may continue.
  Status Begin(const std::string& name, bool best, Sections sections);

  // Whether a save is being written.
  bool busy() const { return busy_.load(); }

  // The number of failed saves so far.
  int64_t failed() const { return failed_.load(); }

  // Waits for the running save and returns the status of the last one; Ok if there was none.
  Status Wait();

 private:
  void WriteInBackground(std::unique_ptr<PendingSave> save, std::string name, bool best,
                         Sections sections);
  Status Write(PendingSave& save, const std::string& name, bool best, const Sections& sections);
  // After a save: removes what it replaces, and leftovers.
  Status RemoveOthers(const std::string& newest);
  // Removes a model, unless its directory contains files of others.
  Status Remove(const std::string& name);
  // After the first save of a run that overwrites another: removes the remaining models of that
  // run.
  Status RemoveReplaced(const std::string& newest);
  // Removes the oldest models beyond options_.keep.
  Status RemoveOld(const std::string& newest);

  Communicator* const communicator_;
  const ModelKeeperOptions options_;
  std::atomic<bool> busy_ = false;
  std::atomic<int64_t> failed_ = 0;
  std::thread writer_;
  // Written by the writing thread, read only after it was joined.
  Status last_;
  std::string best_;
  std::vector<std::string> kept_;      // names, oldest first
  std::vector<std::string> replaced_;  // of the run that is overwritten
};

}  // namespace flotilla
