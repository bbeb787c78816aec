// A shell command whose standard output is read as a stream: `( command ) < file`. How datasets let
// any program, in any language, turn files into rows, and fetch files that only a program can
// reach.
//
// A command is code of the user's: it comes from local configuration only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/interrupt.h"

namespace flotilla {

struct PipeCommandOptions {
  // A command that writes nothing to its standard output for so long, while somebody waits for it,
  // has hung: it is ended, and that is an error.
  int64_t idle_timeout_ms = 60'000;
  // How much of the end of its standard error is kept for messages.
  size_t stderr_tail_bytes = 2048;
  // Ends every wait for the command: Read kills it and returns the cause. Null: nothing does.
  // Must outlive the command.
  const Interrupt* interrupt = nullptr;
};

// The child runs in a process group of its own, inherits no descriptor but the standard three and
// 100, through which the kernel kills the group when this process ends, however it does, and starts
// with default signals. It may run ahead of the reader by a pipe's capacity (about 1 MB), then it
// waits. Whatever it leaves running in its group is killed at its end, and it is always reaped: by
// the Read that meets the end or an error, or by the destructor, which kills it. Its standard error
// is read along and, when it succeeds, not shown.
//
// Not thread-safe. Safe to use in a process with other threads and other children.
class PipeCommand : public ByteStream {
 public:
  // Starts /bin/sh -c `command` with `input` as standard input: the file itself when it has a
  // descriptor, otherwise what it reads is written to the child. Null is an empty input. `name` is
  // what messages call it. An error when no process can be started.
  static StatusOr<std::unique_ptr<PipeCommand>> Start(std::string command, std::string name,
                                                      std::unique_ptr<ByteStream> input,
                                                      const PipeCommandOptions& options);
  ~PipeCommand() override;
  PipeCommand(const PipeCommand&) = delete;
  PipeCommand& operator=(const PipeCommand&) = delete;

  const std::string& name() const override { return name_; }

  // The end of the stream is the end of the command's output, and only when it exits with code 0.
  // Another code, a signal or a hang is an error with name, command, cause and the end of its
  // standard error; an error of the input and the cause of an interrupt are returned as they are. A
  // command need not read all of its input. After an error every call returns the same one.
  StatusOr<size_t> Read(std::span<char> out) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  PipeCommand(std::string command, std::string name, std::unique_ptr<ByteStream> input,
              const PipeCommandOptions& options);
  Status Spawn();
  // Makes the kernel kill the process group once this process holds `guard_` no more.
  void GuardGroup(int read_end) const;
  // Ok, or the cause of an interrupt.
  Status Interrupted() const;
  TimePoint IdleDeadline() const;
  // Waits until the output can be read, feeding the input and reading standard error meanwhile.
  Status AwaitOutput(TimePoint deadline);
  // Writes some of the input to the child; closes it at its end or when the child has closed it.
  Status FeedInput();
  void ReadStderr();
  // After the end of the output: waits for the child, reaps it and judges how it ended.
  Status Finish(TimePoint deadline);
  // Waits until the child has ended, without reaping it, and gives its wait status.
  StatusOr<int> AwaitExit(TimePoint deadline);
  // Kills the process group and reaps the child.
  void KillAndReap();
  Status Fail(Status error);
  Status Failure(const std::string& cause) const;

  // Constant after construction.
  const std::string command_;
  const std::string name_;
  const PipeCommandOptions options_;

  std::unique_ptr<ByteStream> input_;
  pid_t child_ = -1;  // -1: not started, or reaped
  int stdin_ = -1;    // -1: the child has the input itself, or it is closed
  int stdout_ = -1;
  int stderr_ = -1;  // -1: closed by the child
  int guard_ = -1;   // the only write end of a pipe whose read end the group holds
  std::string pending_input_;
  size_t pending_begin_ = 0;
  std::string stderr_tail_;
  bool ended_ = false;
  Status error_;
};

// `text` as one word of a shell command.
std::string ShellQuoted(std::string_view text);

}  // namespace flotilla
