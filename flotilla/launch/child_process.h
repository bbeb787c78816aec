// A process that the launcher has started: its output goes to a log file, it can be monitored
// and ended, and it never outlives the launcher.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// How a process ended.
struct ExitState {
  int code = 0;    // its exit code; 128 + signal if a signal ended it
  int signal = 0;  // 0: it ended by itself

  bool ok() const { return code == 0; }
  // It was killed, crashed, or lost a peer: exit codes from 128 on, except those of a process that
  // was told to stop (SIGHUP, SIGINT, SIGTERM) and did so.
  bool lost() const;
  // "exit code 3", "signal 9 (Killed)"
  std::string ToString() const;
};

// Not thread-safe.
class ChildProcess {
 public:
  // Starts command[0], found on PATH, with the environment of this process and `variables`. Its
  // standard output and error are written to `log`, which starts empty unless `append` is set; its
  // standard input is empty. It runs in its own process group and is killed when the thread that
  // started it ends. Errors name the command or the log.
  static StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::string& name, const std::vector<std::string>& command,
      const std::map<std::string, std::string>& variables, const std::string& log,
      bool append = false);
  // Kills the process if it still runs, and reaps it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const std::string& name() const { return name_; }  // "server 0"
  const std::string& log() const { return log_; }
  pid_t pid() const { return pid_; }
  // A descriptor that poll() finds readable when the process has ended.
  int watch_fd() const { return watch_fd_; }

  // How the process ended, once it has. Processes that it left running in its group are then
  // killed.
  std::optional<ExitState> Poll();
  // Sends a signal to its process group; does nothing once it has ended.
  void Signal(int signal);

  // The last lines of its log, without tables of settings ("communication:" and the indented lines
  // after it), because the error is below them.
  std::string LogTail(int lines) const;
  // Appends a line of the launcher to its log; does nothing if that cannot be written.
  void Note(std::string_view line) const;

 private:
  ChildProcess(std::string name, std::string log, pid_t pid, int watch_fd);

  const std::string name_;
  const std::string log_;
  const pid_t pid_;
  const int watch_fd_;
  std::optional<ExitState> ended_;
};

}  // namespace flotilla
