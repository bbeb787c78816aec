// User-facing output of a program: log lines and the progress of long tasks, on one stream. On a
// terminal, progress is one live line below the log, rewritten in place and redrawn below every new
// log line; elsewhere it is a plain log line every few seconds; in JSON format every line is a JSON
// object. Results are not written here: they go to standard output.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>

#include "flotilla/base/clock.h"
#include "flotilla/base/logger.h"
#include "flotilla/base/task_moment.h"

namespace flotilla {

struct ConsoleOptions {
  enum class Format { kText, kJson };
  Format format = Format::kText;
  // The stream is a terminal that understands "\r" and "\x1b[K". There is no live line in JSON
  // format.
  bool live = false;
  bool unicode = false;          // the terminal shows UTF-8
  std::function<int()> columns;  // terminal width, queried for every live line. Empty: 80
  double live_seconds = 0.1;     // minimum time between two redraws of the live line
  double line_seconds = 3;       // time between two plain or JSON progress lines
};

// Thread-safe. Nothing else may write to the stream while there is a live line.
class Console {
 public:
  // REQUIRES: stream and clock outlive the console.
  Console(std::ostream& stream, const Clock* clock, ConsoleOptions options = {});
  // Removes the live line.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Text lines have the form "[HH:MM:SS] message", at level warning and above "[HH:MM:SS] warning:
  // message"; JSON lines are {"time": .., "level": .., "message": ..}. Every line is flushed.
  Logger& log();

  // Reports the progress of a long task. May be called at any rate and from any thread; `moment` is
  // called and its result shown only when the interval has passed. The first live line is shown at
  // once, the first plain one after line_seconds.
  void Update(const std::function<TaskMoment()>& moment);

  // Ends the task: removes the live line until the next Update.
  void EndTask();

 private:
  class Sink;

  // Constant after construction.
  const Clock* const clock_;
  const ConsoleOptions options_;
  const int64_t interval_nanos_;
  const std::unique_ptr<Sink> sink_;

  std::atomic<int64_t> next_nanos_;
};

// The width in columns of the terminal behind a file descriptor; nullopt if it is not a terminal. A
// terminal that does not report its size counts as 80 columns.
std::optional<int> TerminalColumns(int fd);

}  // namespace flotilla
