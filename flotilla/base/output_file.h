// A file that is written from front to back and appears under its name only when it is complete: a
// crash or an error leaves what was there before. What cannot be replaced (a pipe, a device,
// /dev/stdout) is written directly.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"

namespace flotilla {

// Move-only. Not thread-safe.
class OutputFile {
 public:
  // Opens `path`.tmp, or `path` itself where it is not a regular file. A symbolic link is followed:
  // it stays, and the file that it points to is replaced. An error names the file and the cause: no
  // such directory, no permission. Opening a named pipe waits for its reader.
  static StatusOr<OutputFile> Create(std::string path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without a Finish before, removes what was written; from a pipe nothing can be taken back.
  ~OutputFile();

  const std::string& path() const { return path_; }

  // Buffered; an error (a full disk) may also be told by a later call.
  Status Write(std::string_view bytes);
  // Writes what is left, puts it on the disk and gives the file its name, instead of one that has
  // it. REQUIRES: not called before.
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

// A whole file at once, as OutputFile writes it.
Status WriteFile(std::string path, std::string_view content);

}  // namespace flotilla
