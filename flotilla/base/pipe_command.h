// A shell command whose standard output is read as a stream: `( command ) < file`. Datasets use it
// to let a program in any language convert files into rows, or fetch files that only a program can
// access.
//
// A command is code of the user: it is accepted from local configuration only.
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
  // Time without any standard output, while a reader waits for it, after which the command counts
  // as hung: it is killed, and Read returns an error.
  int64_t idle_timeout_ms = 60'000;
  // Number of trailing bytes of its standard error that are kept for error messages.
  size_t stderr_tail_bytes = 2048;
  // Ends every wait for the command: Read kills it and returns the cause. Null: waits are not
  // interruptible. Must outlive the command.
  const Interrupt* interrupt = nullptr;
};

// The child runs in its own process group and starts with default signal handlers. It inherits no
// descriptor but the standard three and 100, through which the kernel kills the group when this
// process ends in any way. The child may run ahead of the reader by the capacity of a pipe (about 1
// MB), then it blocks. Processes that it leaves running in its group are killed when it ends, and
// it is always reaped: by the Read that reaches the end or an error, or by the destructor, which
// kills it. Its standard error is drained and, when the command succeeds, discarded.
//
// Not thread-safe. Safe to use in a process with other threads and other children.
class PipeCommand : public ByteStream {
 public:
  // Starts /bin/sh -c `command` with `input` as standard input: the file itself when it has a
  // descriptor, otherwise the bytes read from it are written to the child. A null `input` is an
  // empty input. `name` identifies the stream in messages. Returns an error when no process can be
  // started.
  static StatusOr<std::unique_ptr<PipeCommand>> Start(std::string command, std::string name,
                                                      std::unique_ptr<ByteStream> input,
                                                      const PipeCommandOptions& options);
  ~PipeCommand() override;
  PipeCommand(const PipeCommand&) = delete;
  PipeCommand& operator=(const PipeCommand&) = delete;

  const std::string& name() const override { return name_; }

  // The stream ends where the command's output ends, provided that the command exits with code 0.
  // Any other exit code, a signal or a hang is an error that contains the name, the command, the
  // cause and the end of its standard error; an error of the input and the cause of an interrupt
  // are returned unchanged. A command need not read all of its input. After an error every call
  // returns the same one.
  StatusOr<size_t> Read(std::span<char> out) override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  PipeCommand(std::string command, std::string name, std::unique_ptr<ByteStream> input,
              const PipeCommandOptions& options);
  Status Spawn();
  // Makes the kernel kill the process group once this process no longer holds `guard_`.
  void GuardGroup(int read_end) const;
  // Ok, or the cause of an interrupt.
  Status Interrupted() const;
  TimePoint IdleDeadline() const;
  // Waits until the output can be read, feeding the input and reading standard error meanwhile.
  Status AwaitOutput(TimePoint deadline);
  // Writes some of the input to the child; closes it at its end or when the child has closed it.
  Status FeedInput();
  void ReadStderr();
  // After the end of the output: waits for the child, reaps it and checks how it ended.
  Status Finish(TimePoint deadline);
  // Waits until the child has ended, without reaping it, and returns its wait status.
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

// Returns `text` quoted as one word of a shell command.
std::string ShellQuoted(std::string_view text);

}  // namespace flotilla
