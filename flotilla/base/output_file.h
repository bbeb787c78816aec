// A file that is written sequentially and appears under its name only when it is complete: after a
// crash or an error the previous file, if any, is unchanged. A path that cannot be replaced (a
// pipe, a device, /dev/stdout) is written directly.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"

namespace flotilla {

// Move-only. Not thread-safe.
class OutputFile {
 public:
  // Opens `path`.tmp, or `path` itself when it is not a regular file. A symbolic link is followed:
  // the link is kept, and the file that it points to is replaced. An error names the file and the
  // cause: no such directory, no permission. Opening a named pipe waits for its reader.
  static StatusOr<OutputFile> Create(std::string path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // If Finish was not called, removes what was written; bytes already written to a pipe cannot be
  // taken back.
  ~OutputFile();

  const std::string& path() const { return path_; }

  // Writes are buffered; an error (a full disk) may also be reported by a later call.
  Status Write(std::string_view bytes);
  // Flushes the buffer, syncs the file to disk and renames it to its final name, replacing an
  // existing file. REQUIRES: not called before.
  Status Finish();

 private:
  OutputFile(std::string path, bool in_place, std::FILE* file)
      : path_(std::move(path)), in_place_(in_place), file_(file) {}
  std::string temporary() const { return path_ + ".tmp"; }
  Status Failed(std::string_view what) const;

  std::string path_;
  bool in_place_;
  std::FILE* file_;  // null: finished or moved from
};

// Writes a whole file at once through OutputFile.
Status WriteFile(std::string path, std::string_view content);

}  // namespace flotilla
