// Runs a generator, a shell command that converts each raw file into rows, and stores its output:
// the work of a pipe command is done once instead of in every epoch.
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
  int threads = 1;       // commands to run concurrently; the output does not depend on it
  LogLine log;           // receives a message when a command writes nothing for a file
  // Called with the number of additional lines, from any thread and concurrently.
  std::function<void(int64_t lines)> on_lines;
};

// Receives the output of a command.
using GenerateSink = std::function<Status(std::string_view text)>;

struct Generated {
  int64_t files = 0;
  int64_t lines = 0;
  int64_t bytes = 0;
  bool operator==(const Generated&) const = default;
};

// Writes the output for the i-th file to directory/part-00000i; a missing line end is added to the
// last line. Either all files appear at the end, or none. Errors are those of PipeCommand (exit
// code, signal, hang, with the end of its standard error) and of writing, and empty output for all
// files together.
StatusOr<Generated> GenerateFiles(const std::vector<std::string>& files,
                                  const std::string& directory, const GenerateOptions& options);

// Like GenerateFiles, but passes all output to `sink` piece by piece, one file after another.
// Output passed before an error is not retracted.
StatusOr<Generated> GenerateStream(const std::vector<std::string>& files, const GenerateSink& sink,
                                   const GenerateOptions& options);

}  // namespace flotilla
