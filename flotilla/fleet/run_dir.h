// The directory of a run's models (--out DIR): one run at a time writes there, and models of two
// runs never mix. model_keeper.h writes the models, checkpoint/ each of them.
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
  bool resume = false;     // go on with the models that are there
  bool overwrite = false;  // models that are there may be replaced
  // How the run was started, for messages of other runs that find the directory in use.
  std::string command;
  // Flags that let a run into a directory that has models, for messages.
  std::string_view remedies = "--resume to go on with it, --overwrite to replace it";
};

// Holds the directory until it is destroyed. Not thread-safe.
class RunDir {
 public:
  // Makes the directory and locks it (flock on DIR/.run, which also says who holds it; on file
  // systems without locks nobody is refused). Nothing else is changed.
  // FailedPrecondition, naming what is there and what to do: another run holds it; it has models,
  // and neither resume nor overwrite is set; it is itself a model; with resume, it has models but
  // none that is whole. `warn` is told when the model to resume is not DIR/latest.
  static StatusOr<std::unique_ptr<RunDir>> Open(const RunDirOptions& options, const LogLine& warn);
  // Lets the next run in. Without a model in it, a directory that Open made is removed.
  ~RunDir();
  RunDir(const RunDir&) = delete;
  RunDir& operator=(const RunDir&) = delete;

  // With resume: the model to go on with, DIR/latest or, where that link is missing or dangling,
  // the newest whole model; empty: the directory has none yet.
  const std::string& model() const { return model_; }

 private:
  RunDir(std::string dir, bool made, int lock) : dir_(std::move(dir)), made_(made), lock_(lock) {}

  const std::string dir_;
  const bool made_;
  const int lock_;  // descriptor of DIR/.run
  std::string model_;
};

// Names of the models in a directory, whole or not, oldest first.
std::vector<std::string> ModelsIn(const std::string& dir);

// What a run tells at its start when nothing is kept.
inline constexpr char kNothingKept[] =
    "without --out DIR no model is saved: what is learned is lost at the end";

}  // namespace flotilla
