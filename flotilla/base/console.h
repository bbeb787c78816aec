// Where a program speaks to a person: log lines and the progress of long tasks, on one stream. On a
// terminal the progress is one live line below the log, rewritten in place and moved out of the way
// of every log line; elsewhere it is a plain log line every few seconds; for machines every line is
// a JSON object. Results do not pass here: they go to standard output.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>

#include "flotilla/base/clock.h"
#include "flotilla/base/task_moment.h"

namespace flotilla {

struct ConsoleOptions {
  enum class Format { kText, kJson };
  Format format = Format::kText;
  // The stream is a terminal that understands "\r" and "\x1b[K". Nothing is live in JSON.
  bool live = false;
  bool unicode = false;          // the terminal shows UTF-8
  std::function<int()> columns;  // of the terminal, asked for every live line. Empty: 80
  double live_seconds = 0.1;     // a live line is rewritten at most so often
  double line_seconds = 3;       // so far apart stand plain and JSON progress lines
};

// Thread-safe. Nothing else may write to the stream while there is a live line.
class Console {
 public:
  // REQUIRES: stream and clock outlive the console.
  Console(std::ostream& stream, const Clock* clock, ConsoleOptions options = {});
  // Takes the live line away.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Text lines are "[HH:MM:SS] message", from warnings on "[HH:MM:SS] warning: message"; in JSON
  // {"time": .., "level": .., "message": ..}. Every line is flushed.
  spdlog::logger& log() { return *log_; }

  // Called by a long task as often as it likes, from any thread; `moment` is called and shown only
  // when it is time. The first live line comes at once, the first plain one after line_seconds.
  void Update(const std::function<TaskMoment()>& moment);

  // The task is over: takes the live line away, until the next Update.
  void EndTask();

 private:
  class Sink;

  // Constant after construction.
  const Clock* const clock_;
  const ConsoleOptions options_;
  const int64_t interval_nanos_;
  std::shared_ptr<Sink> sink_;
  std::unique_ptr<spdlog::logger> log_;

  std::atomic<int64_t> next_nanos_;
};

// The columns of the terminal behind a file descriptor; nothing if it is none. A terminal that does
// not tell its size has 80.
std::optional<int> TerminalColumns(int fd);

}  // namespace flotilla
