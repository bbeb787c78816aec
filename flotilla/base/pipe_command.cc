#include "flotilla/base/pipe_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <utility>

extern char** environ;

namespace flotilla {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kPipeBytes = 1 << 20;
constexpr size_t kInputBytes = 256 << 10;
// Descriptor number of the guard in the child: above the numbers that scripts redirect (0 to 9) and
// those that shells use internally (10 and up, bash from 63 down).
constexpr int kGuardFd = 100;

void CloseFd(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

struct Pipe {
  int read = -1;
  int write = -1;

  ~Pipe() {
    CloseFd(&read);
    CloseFd(&write);
  }
  Status Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ResourceExhausted("pipe: {}", std::strerror(errno));
    read = AboveStandard(ends[0]);
    write = AboveStandard(ends[1]);
    if (read < 0 || write < 0) return ResourceExhausted("pipe: {}", std::strerror(errno));
    fcntl(write, F_SETPIPE_SZ, kPipeBytes);  // best effort: a smaller one works too
    return absl::OkStatus();
  }

 private:
  // In a process that has closed a standard descriptor, a new descriptor may get its number and be
  // overwritten when the child's descriptors are set up.
  static int AboveStandard(int fd) {
    if (fd > STDERR_FILENO) return fd;
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
  }
};

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

// Attributes and file actions of posix_spawn.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void Give(int fd, int as) { posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void GiveNothing(int as) {
    posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_RDONLY, 0);
  }
  // Closes all other descriptors except `guard`, which becomes kGuardFd: other code in this process
  // may have opened files without O_CLOEXEC.
  void CloseOthers(int guard) {
    Give(guard, STDERR_FILENO + 1);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 2);
    Give(STDERR_FILENO + 1, kGuardFd);
    posix_spawn_file_actions_addclose(&actions_, STDERR_FILENO + 1);
  }

  Status Run(const std::string& command, pid_t* child) {
    const char* arguments[] = {"sh", "-c", command.c_str(), nullptr};
    const int error = posix_spawn(child, "/bin/sh", &actions_, &attributes_,
                                  const_cast<char**>(arguments), environ);
    if (error != 0) return ResourceExhausted("cannot start /bin/sh: {}", std::strerror(error));
    return absl::OkStatus();
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// write() without the SIGPIPE that a closed pipe raises; errno is EPIPE in that case.
ssize_t WriteQuietly(int fd, const char* data, size_t bytes) {
  sigset_t sigpipe, before, waiting;
  sigemptyset(&sigpipe);
  sigaddset(&sigpipe, SIGPIPE);
  sigpending(&waiting);
  const bool was_waiting = sigismember(&waiting, SIGPIPE) == 1;
  pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
  const ssize_t written = write(fd, data, bytes);
  const int error = errno;
  if (written < 0 && error == EPIPE && !was_waiting) {
    const timespec now{};
    while (sigtimedwait(&sigpipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

int MillisUntil(steady_clock::time_point deadline) {
  const int64_t left =
      std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count() + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000'000));
}

// Describes how a child ended, from its wait status; empty for success.
std::string CauseOf(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
  }
  const int code = WEXITSTATUS(status);
  if (code == 0) return "";
  if (code > 128 && code < 128 + 65) {
    return fmt::format("exited with code {} (128 + signal {}, {})", code, code - 128,
                       strsignal(code - 128));
  }
  return fmt::format("exited with code {}", code);
}

}  // namespace

StatusOr<std::unique_ptr<PipeCommand>> PipeCommand::Start(std::string command, std::string name,
                                                          std::unique_ptr<ByteStream> input,
                                                          const PipeCommandOptions& options) {
  std::unique_ptr<PipeCommand> pipe(
      new PipeCommand(std::move(command), std::move(name), std::move(input), options));
  const Status status = pipe->Spawn();
  if (!status.ok()) {
    return Annotate(status, fmt::format("{}: command `{}`", pipe->name_, pipe->command_));
  }
  return pipe;
}

PipeCommand::PipeCommand(std::string command, std::string name, std::unique_ptr<ByteStream> input,
                         const PipeCommandOptions& options)
    : command_(std::move(command)),
      name_(std::move(name)),
      options_(options),
      input_(std::move(input)) {}

PipeCommand::~PipeCommand() {
  KillAndReap();
  CloseFd(&stdin_);
  CloseFd(&stdout_);
  CloseFd(&stderr_);
  CloseFd(&guard_);
}

Status PipeCommand::Spawn() {
  Pipe in, out, err, guard;
  FL_RETURN_IF_ERROR(out.Open());
  FL_RETURN_IF_ERROR(err.Open());
  FL_RETURN_IF_ERROR(guard.Open());
  SpawnPlan plan;
  const bool feeds = input_ != nullptr && input_->fd() < 0;
  if (feeds) {
    FL_RETURN_IF_ERROR(in.Open());
    plan.Give(in.read, STDIN_FILENO);
  } else if (input_ != nullptr) {
    plan.Give(input_->fd(), STDIN_FILENO);
  } else {
    plan.GiveNothing(STDIN_FILENO);
  }
  plan.Give(out.write, STDOUT_FILENO);
  plan.Give(err.write, STDERR_FILENO);
  plan.CloseOthers(guard.read);
  FL_RETURN_IF_ERROR(plan.Run(command_, &child_));
  GuardGroup(guard.read);
  guard_ = std::exchange(guard.write, -1);
  if (feeds) {
    stdin_ = std::exchange(in.write, -1);
    SetNonBlocking(stdin_);
  }
  stdout_ = std::exchange(out.read, -1);
  stderr_ = std::exchange(err.read, -1);
  SetNonBlocking(stdout_);
  SetNonBlocking(stderr_);
  return absl::OkStatus();
}

// Nothing is ever written to the guard, so its readers are notified once: when the last write end
// is closed, which the kernel also does for a process that is killed. PR_SET_PDEATHSIG does not
// suffice: it follows the thread that started the child, not the process, and reaches only the
// shell. If the kernel refuses, commands stay alive until they write.
void PipeCommand::GuardGroup(int read_end) const {
  fcntl(read_end, F_SETSIG, SIGKILL);
  fcntl(read_end, F_SETOWN, -child_);
  fcntl(read_end, F_SETFL, fcntl(read_end, F_GETFL) | O_ASYNC);
}

Status PipeCommand::Interrupted() const {
  return options_.interrupt == nullptr ? absl::OkStatus() : options_.interrupt->status();
}

PipeCommand::TimePoint PipeCommand::IdleDeadline() const {
  return steady_clock::now() + milliseconds(options_.idle_timeout_ms);
}

StatusOr<size_t> PipeCommand::Read(std::span<char> out) {
  FL_RETURN_IF_ERROR(error_);
  if (ended_) return 0;
  const TimePoint deadline = IdleDeadline();
  while (true) {
    const Status interrupted = Interrupted();
    if (!interrupted.ok()) return Fail(interrupted);
    const ssize_t got = read(stdout_, out.data(), out.size());
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) {
      const Status status = Finish(IdleDeadline());
      if (!status.ok()) return Fail(status);
      ended_ = true;
      return 0;
    }
    if (errno == EAGAIN) {
      const Status status = AwaitOutput(deadline);
      if (!status.ok()) return Fail(status);
    } else if (errno != EINTR) {
      return Fail(Failure(fmt::format("cannot be read: {}", std::strerror(errno))));
    }
  }
}

Status PipeCommand::AwaitOutput(TimePoint deadline) {
  while (true) {
    // A negative descriptor is passed over by poll.
    pollfd fds[] = {{stdout_, POLLIN, 0},
                    {stderr_, POLLIN, 0},
                    {stdin_, POLLOUT, 0},
                    {options_.interrupt == nullptr ? -1 : options_.interrupt->fd(), POLLIN, 0}};
    const int ready = poll(fds, std::size(fds), MillisUntil(deadline));
    if (ready < 0 && errno != EINTR) return Failure(fmt::format("poll: {}", std::strerror(errno)));
    FL_RETURN_IF_ERROR(Interrupted());
    if (ready > 0) {
      if (fds[1].revents != 0) ReadStderr();
      if (fds[0].revents != 0) return absl::OkStatus();
      if (fds[2].revents != 0) FL_RETURN_IF_ERROR(FeedInput());
    }
    // Checked even when other events keep arriving: a flood of standard error is not output.
    if (steady_clock::now() >= deadline) {
      return Failure(fmt::format("wrote nothing for {} ms", options_.idle_timeout_ms));
    }
  }
}

Status PipeCommand::FeedInput() {
  if (pending_begin_ == pending_input_.size()) {
    pending_input_.resize(kInputBytes);
    FL_ASSIGN_OR_RETURN(const size_t got, input_->Read(pending_input_));
    pending_input_.resize(got);
    pending_begin_ = 0;
    if (got == 0) {
      CloseFd(&stdin_);
      return absl::OkStatus();
    }
  }
  const ssize_t written = WriteQuietly(stdin_, pending_input_.data() + pending_begin_,
                                       pending_input_.size() - pending_begin_);
  if (written >= 0) {
    pending_begin_ += static_cast<size_t>(written);
  } else if (errno == EPIPE) {
    CloseFd(&stdin_);  // the command reads no further, like `head`
  } else if (errno != EAGAIN && errno != EINTR) {
    return Failure(fmt::format("cannot be written to: {}", std::strerror(errno)));
  }
  return absl::OkStatus();
}

void PipeCommand::ReadStderr() {
  char buffer[4096];
  // One buffer at a time, so that a flood of standard error does not block the reader here.
  const ssize_t got = read(stderr_, buffer, sizeof(buffer));
  if (got > 0) {
    stderr_tail_.append(buffer, got);
    if (stderr_tail_.size() > options_.stderr_tail_bytes) {
      stderr_tail_.erase(0, stderr_tail_.size() - options_.stderr_tail_bytes);
    }
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    CloseFd(&stderr_);
  }
}

StatusOr<int> PipeCommand::AwaitExit(TimePoint deadline) {
  for (int wait_ms = 1;; wait_ms = std::min(2 * wait_ms, 50)) {
    siginfo_t info{};
    // Not reaped yet: until the group is killed, its number must not be reused by other processes.
    if (waitid(P_PID, child_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR) {
      return Failure(fmt::format("cannot be waited for: {}", std::strerror(errno)));
    }
    if (info.si_pid == child_) {
      return info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) : info.si_status & 0x7f;
    }
    FL_RETURN_IF_ERROR(Interrupted());
    if (steady_clock::now() >= deadline) {
      return Failure(
          fmt::format("closed its output and did not end within {} ms", options_.idle_timeout_ms));
    }
    pollfd fd{stderr_, POLLIN, 0};
    if (poll(&fd, 1, std::min(wait_ms, MillisUntil(deadline))) > 0) ReadStderr();
  }
}

Status PipeCommand::Finish(TimePoint deadline) {
  CloseFd(&stdin_);
  FL_ASSIGN_OR_RETURN(const int status, AwaitExit(deadline));
  // What the command wrote before it ended is in the pipe. Output that other processes of its group
  // still write is not awaited, and no more than the content of one pipe is read.
  for (size_t left = kPipeBytes; left > 0 && stderr_ >= 0; left -= 4096) {
    pollfd fd{stderr_, POLLIN, 0};
    if (poll(&fd, 1, 0) <= 0) break;
    ReadStderr();
  }
  KillAndReap();
  const std::string cause = CauseOf(status);
  if (!cause.empty()) return Failure(cause);
  return input_ == nullptr ? absl::OkStatus() : input_->CheckUnchanged();
}

void PipeCommand::KillAndReap() {
  if (child_ < 0) return;
  kill(-child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

Status PipeCommand::Fail(Status error) {
  KillAndReap();
  error_ = std::move(error);
  return error_;
}

Status PipeCommand::Failure(const std::string& cause) const {
  std::string_view tail = stderr_tail_;
  while (tail.ends_with('\n')) tail.remove_suffix(1);
  return FailedPrecondition("{}: command `{}` {}; {}", name_, command_, cause,
                            tail.empty() ? std::string("its standard error is empty")
                                         : fmt::format("its standard error ends with:\n{}", tail));
}

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace flotilla
