// The directory of a run's models (--out DIR): one run at a time writes to it, and models of two
// runs never mix. model_keeper.h manages the models, checkpoint/ writes each of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"

namespace flotilla {

struct RunDirOptions {
  std::string dir;
  bool resume = false;     // continue from an existing model
  bool overwrite = false;  // existing models may be replaced
  // The command line of the run, for messages of other runs that find the directory in use.
  std::string command;
};

// Locks the directory until destruction. Not thread-safe.
class RunDir {
 public:
  // Creates the directory and locks it (flock on DIR/.run, which also names the holder; on file
  // systems without locks no run is rejected). Changes nothing else.
  // FailedPrecondition, with the state of the directory and the remedies: another run holds it; it
  // has models, and neither resume nor overwrite is set; it is itself a model; with resume, it has
  // models but no complete one. Calls `warn` if the model to resume is not DIR/latest.
  static StatusOr<std::unique_ptr<RunDir>> Open(const RunDirOptions& options, const LogLine& warn);
  // Unlocks the directory. If Open created it and it has no model, it is removed.
  ~RunDir();
  RunDir(const RunDir&) = delete;
  RunDir& operator=(const RunDir&) = delete;

  // With resume: the model to continue from, DIR/latest or, if that link is missing or dangling,
  // the newest complete model; empty: the directory has none yet.
  const std::string& model() const { return model_; }

 private:
  RunDir(std::string dir, bool made, int lock) : dir_(std::move(dir)), made_(made), lock_(lock) {}

  const std::string dir_;
  const bool made_;
  const int lock_;  // descriptor of DIR/.run
  std::string model_;
};

// The model that --resume continues from in a directory: RunDir::model(), without a lock and
// without changing anything.
StatusOr<std::string> FindResumed(const std::string& dir, const LogLine& warn);

// Names of the models in a directory, complete or not, oldest first.
std::vector<std::string> ModelsIn(const std::string& dir);

// Makes DIR/LINK point to DIR/NAME, atomically: there is always a valid link.
Status PointTo(const std::string& dir, const std::string& link, const std::string& name);

// Removes what killed or failed saves, removals of models and PointTo have left in a directory.
// What cannot be removed stays. REQUIRES: the caller holds the lock.
void RemoveLeftovers(const std::string& dir);

// The message of a run at its start if it saves no model.
inline constexpr char kNothingKept[] =
    "without --out DIR no model is saved: the result of training is lost at the end";

}  // namespace flotilla
