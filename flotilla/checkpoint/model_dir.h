// Puts a new model directory in place: it is written as a temporary directory next to the old one
// and exchanged with it at the end, so that a crash leaves the old model or the new one. It knows
// nothing of the content of the files. docs/checkpoint_format.md, "How it is written", has the
// steps.
#pragma once

#include <functional>
#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// A save in progress. Owns the lock on its temporary directory; not thread-safe.
class ModelDirSave {
 public:
  // Creates DIR.saving, including its parent directories, and removes leftovers of killed saves.
  // Errors: another save of `dir` is in progress (FailedPrecondition); `dir` contains files that
  // are not part of a model and would be lost.
  // `exchange`: whether Commit may try to exchange the two directories in one system call.
  static StatusOr<ModelDirSave> Begin(const std::string& dir, bool exchange);
  // Removes the temporary directory unless it was committed.
  ~ModelDirSave();
  ModelDirSave(ModelDirSave&& other) noexcept;
  ModelDirSave& operator=(ModelDirSave&&) = delete;

  // The directory to write the files into.
  const std::string& temporary() const { return temporary_; }

  // Replaces `dir` with the temporary directory; with `sync`, a crash of the machine does not undo
  // it. On error the old model is unchanged, except for an error of the last sync.
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
// leaves no partial model under its name. Ok if there is none; what an earlier call left after an
// error is removed. FailedPrecondition when it contains files that are not part of a model; nothing
// is removed in that case.
Status RemoveModelDir(const std::string& dir);
// Removes the leftovers of killed or failed saves and removals of models in a directory, if
// `is_model` returns true for the name of the model. What cannot be removed, belongs to a save in
// progress, or is the only copy of a model (DIR.replaced without DIR) stays.
void SweepLeftovers(const std::string& parent,
                    const std::function<bool(const std::string& name)>& is_model);

// Opens the model directory; the caller closes the descriptor. Opens DIR, or DIR.replaced after a
// crash that left no DIR. NotFound when there is neither.
StatusOr<int> OpenModelDir(const std::string& dir);

}  // namespace flotilla
