// Keeps the models of a run in its directory: DIR/epoch_N after epochs, DIR/step_N in between, and
// the links DIR/latest and DIR/best. Files are written on a thread of its own while training goes
// on; the newest few and the best stay.
//
//   training stands still:  keeper.Begin(..)    marks the moment (communicator.BeginSave)
//   training goes on:       the thread writes, then moves the links, then removes what is too old
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
  std::string dir;   // which is there (run_dir.h)
  int64_t keep = 3;  // the newest so many; 0: all
  // Models that are there are of another run: the first one that is saved replaces them all.
  bool overwrite = false;
  bool optimizer_state = true;
  // Told of every model that was written, and of every save that failed; by the writing thread.
  std::function<void(const std::string& dir, int64_t step, double seconds)> on_saved;
  std::function<void(const std::string& dir, const Status& status)> on_failed;
};

// Not thread-safe but for busy().
class ModelKeeper {
 public:
  // REQUIRES: communicator outlives the keeper.
  ModelKeeper(Communicator* communicator, ModelKeeperOptions options);
  // Waits for the save under way.
  ~ModelKeeper();

  // Begins to save the model as it is now, as DIR/NAME; waits first for a save under way. With
  // `best` DIR/best will point to it. A failure to write is told to on_failed and by Wait, and
  // training may go on.
  Status Begin(const std::string& name, bool best, Sections sections);

  // Whether a save is being written.
  bool busy() const { return busy_.load(); }

  // Waits for the save under way and returns how the last one ended; ok if there was none.
  Status Wait();

 private:
  void WriteInBackground(std::unique_ptr<PendingSave> save, std::string name, bool best,
                         Sections sections);
  Status Write(PendingSave& save, const std::string& name, bool best, const Sections& sections);
  // Removes a model, unless it holds files of others.
  Status Remove(const std::string& name);
  // After the first save of a run that overwrites another: removes what is left of that.
  Status RemoveReplaced(const std::string& newest);
  // Removes the oldest models beyond options_.keep.
  Status RemoveOld(const std::string& newest);

  Communicator* const communicator_;
  const ModelKeeperOptions options_;
  std::atomic<bool> busy_ = false;
  std::thread writer_;
  // Written by the writing thread, read after it was joined.
  Status last_;
  std::string best_;
  std::vector<std::string> kept_;      // names, oldest first
  std::vector<std::string> replaced_;  // of the run that is overwritten
};

}  // namespace flotilla
