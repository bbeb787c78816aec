// The new content of a directory, made aside and shown when it is complete: a run that fails leaves
// nothing behind, and one that is killed leaves nothing that looks like a result.
#pragma once

#include <memory>
#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// Not thread-safe; files may be written below path() by any thread.
class StagedDir {
 public:
  // Makes `directory`, if it is not there, and a hidden directory in it. FailedPrecondition that
  // names the path when `directory` has visible files already (so that no other run's files mix
  // with these), when another run is under way or was killed in it, or nothing can be made there.
  static StatusOr<std::unique_ptr<StagedDir>> Make(const std::string& directory);
  // Removes what was not published.
  ~StagedDir();
  StagedDir(const StagedDir&) = delete;
  StagedDir& operator=(const StagedDir&) = delete;

  // Where to write.
  const std::string& path() const { return path_; }

  // Moves everything to `directory` itself: directories first, then files, each by name. Whoever
  // finds the last file may rely on all of them. Once.
  Status Publish();

 private:
  explicit StagedDir(std::string directory);

  const std::string directory_;
  const std::string path_;
};

// Makes `directory` if it is not there. FailedPrecondition when it has visible files or cannot be
// made.
Status MakeEmptyDirectory(const std::string& directory);

}  // namespace flotilla
