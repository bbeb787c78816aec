// Runs a generator, a shell command that turns each raw file into rows, and keeps what it writes:
// the work of a pipe command done once instead of in every epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/source.h"

namespace flotilla {

struct GenerateOptions {
  SourceOptions source;  // with the pipe command
  int threads = 1;       // commands that run at once; the files do not depend on it
  LogLine log;           // told of a command that wrote nothing for a file
  // Called by any thread, several at once, after so many lines more.
  std::function<void(int64_t lines)> on_lines;
};

// What becomes of the output of a command.
using GenerateSink = std::function<Status(std::string_view text)>;

struct Generated {
  int64_t files = 0;
  int64_t lines = 0;
  int64_t bytes = 0;
  bool operator==(const Generated&) const = default;
};

// Writes the output for the i-th file to directory/part-00000i; a last line without an end gets
// one. All of them appear at the end, or none. Errors are those of PipeCommand (exit code, signal,
// hang, with the end of its standard error) and of writing, and that all files together gave
// nothing.
StatusOr<Generated> GenerateFiles(const std::vector<std::string>& files,
                                  const std::string& directory, const GenerateOptions& options);

// The same, with all output given to `sink` piece by piece, one file after another. What was given
// before an error stays given.
StatusOr<Generated> GenerateStream(const std::vector<std::string>& files, const GenerateSink& sink,
                                   const GenerateOptions& options);

}  // namespace flotilla
