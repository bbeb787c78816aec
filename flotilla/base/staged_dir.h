// Stages the new content of a directory and publishes it when it is complete: a run that fails
// leaves nothing behind, and one that is killed leaves nothing that looks like a result.
#pragma once

#include <memory>
#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// Not thread-safe; files may be written below path() by any thread.
class StagedDir {
 public:
  // Creates `directory`, if it does not exist, and a hidden directory in it. FailedPrecondition
  // with the path when `directory` already has visible files (so that the files of two runs never
  // mix), when another run is active or was killed in it, or when the directory cannot be created.
  static StatusOr<std::unique_ptr<StagedDir>> Make(const std::string& directory);
  // Removes everything that was not published.
  ~StagedDir();
  StagedDir(const StagedDir&) = delete;
  StagedDir& operator=(const StagedDir&) = delete;

  // The directory to write into.
  const std::string& path() const { return path_; }

  // Moves everything to `directory` itself: directories first, then files, each group in order of
  // name. A reader that sees the last file may rely on all of them being there. May be called once.
  Status Publish();

 private:
  explicit StagedDir(std::string directory);

  const std::string directory_;
  const std::string path_;
};

// Creates `directory` if it does not exist. FailedPrecondition when it has visible files or cannot
// be created.
Status MakeEmptyDirectory(const std::string& directory);

}  // namespace flotilla
