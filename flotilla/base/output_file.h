// A file that appears under its name only when it is complete: after a crash or an error the
// previous file, if any, is unchanged. A path that cannot be replaced (a pipe, a device,
// /dev/stdout) is written directly.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "flotilla/base/status.h"

namespace flotilla {

struct OutputFileOptions {
  // Sync the file to disk before it gets its name. Not needed where readers verify a checksum and
  // can rebuild the file.
  bool sync = true;
  // Other processes may write the same path at the same time: the temporary name is unique, and the
  // file that is finished last stays. A killed process leaves its temporary file behind.
  bool shared = false;
};

// Move-only. Not thread-safe.
class OutputFile {
 public:
  // Opens `path`.tmp, or `path` itself when it is not a regular file. A symbolic link is followed:
  // the link is kept, and the file that it points to is replaced. An error names the file and the
  // cause: no such directory, no permission. Opening a named pipe waits for its reader.
  static StatusOr<OutputFile> Create(std::string path, OutputFileOptions options = {});

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // If Finish was not called, removes what was written; bytes already written to a pipe cannot be
  // taken back.
  ~OutputFile();

  const std::string& path() const { return path_; }

  // Writes are buffered; an error (a full disk) may also be reported by a later call.
  Status Write(std::string_view bytes);
  // Writes at an offset, possibly beyond the end; Write continues behind it. Flushes the buffer, so
  // it is meant for large pieces. An error for a pipe.
  Status WriteAt(int64_t offset, std::string_view bytes);
  // Flushes the buffer, syncs the file to disk and renames it to its final name, replacing an
  // existing file. REQUIRES: not called before.
  Status Finish();

 private:
  OutputFile(std::string path, std::string temporary, bool sync, std::FILE* file)
      : path_(std::move(path)), temporary_(std::move(temporary)), sync_(sync), file_(file) {}
  Status Failed(std::string_view what) const;

  std::string path_;
  std::string temporary_;  // empty: the path is written directly
  bool sync_;
  std::FILE* file_;  // null: finished or moved from
};

// Writes a whole file at once through OutputFile.
Status WriteFile(std::string path, std::string_view content);

}  // namespace flotilla
