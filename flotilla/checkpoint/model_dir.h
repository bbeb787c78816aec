// How a model directory comes into its place: a temporary directory beside it that is exchanged
// with it at the end, so that a crash leaves the old model or the new one. It knows nothing of what
// the files hold. docs/checkpoint_format.md, "How it is written", has the steps.
#pragma once

#include <functional>
#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// A directory under way. Owns the lock on it; not thread-safe.
class ModelDirSave {
 public:
  // Makes DIR.saving, with the directories above it, and removes leftovers of saves that were
  // killed. Errors: another save of `dir` is under way (FailedPrecondition); `dir` holds what is
  // not part of a model, and would be lost.
  // `exchange`: whether Commit may try to exchange the two directories in one system call.
  static StatusOr<ModelDirSave> Begin(const std::string& dir, bool exchange);
  // Removes the temporary directory unless it was committed.
  ~ModelDirSave();
  ModelDirSave(ModelDirSave&& other) noexcept;
  ModelDirSave& operator=(ModelDirSave&&) = delete;

  // Where the files are to be written.
  const std::string& temporary() const { return temporary_; }

  // Puts the temporary directory in the place of `dir`, with `sync` so that a crash of the machine
  // does not undo it. On error the old model is as it was; but for an error of the last sync.
  Status Commit(bool sync);

 private:
  ModelDirSave(std::string dir, std::string temporary, int lock, bool exchange);
  Status Replace();

  std::string dir_;
  std::string temporary_;
  int lock_;  // descriptor of the temporary directory, -1 when moved from
  bool exchange_;
  bool committed_ = false;
};

// Removes a model: DIR becomes DIR.removing in one step and is removed there, so that a crash
// leaves no half of a model under its name. FailedPrecondition when it holds what is not part of a
// model; then nothing is removed.
Status RemoveModelDir(const std::string& dir);
// Removes what removals of models that were killed have left in a directory: those that `is_model`,
// which is given their names, knows. What cannot be removed stays.
void SweepRemovedModels(const std::string& parent,
                        const std::function<bool(const std::string& name)>& is_model);

// A descriptor of the model directory, to be closed by the caller: DIR, or DIR.replaced after a
// crash that left no DIR. NotFound when there is neither.
StatusOr<int> OpenModelDir(const std::string& dir);

}  // namespace flotilla
