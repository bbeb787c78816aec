#include "flotilla/launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

extern char** environ;

namespace flotilla {
namespace {

constexpr int kExecFailed = 127;

// The environment of this process as NAME=VALUE; `variables` override those of the same name.
std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    if (!variables.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

// A log without its tables of settings: a line that ends with "communication:" and the indented
// lines after it.
std::string WithoutTables(std::string_view log) {
  std::string rest;
  bool in_table = false;
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size() - 1) + 1;
    const std::string_view line = log.substr(begin, end - begin);
    in_table = line.ends_with("communication:\n") ||
               (in_table && (line.starts_with("  ") || line == "\n"));
    if (!in_table) rest += line;
    begin = end;
  }
  return rest;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child: only what is safe after fork in a process with threads.
[[noreturn]] void BecomeCommand(int log, int failed, pid_t parent, char* const* command,
                                char* const* environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kExecFailed);  // the launcher ended before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_DFL);
  const int empty = open("/dev/null", O_RDONLY);
  dup2(empty, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvpe(command[0], command, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(failed, &error, sizeof(error));
  _exit(kExecFailed);
}

// Closes its descriptors on destruction.
struct Descriptors {
  int log = -1, read_end = -1, write_end = -1;
  ~Descriptors() {
    for (const int fd : {log, read_end, write_end}) {
      if (fd >= 0) close(fd);
    }
  }
};

}  // namespace

bool ExitState::lost() const {
  return signal != 0 ||
         (code >= 128 && code != 128 + SIGHUP && code != 128 + SIGINT && code != 128 + SIGTERM);
}

std::string ExitState::ToString() const {
  if (signal != 0) return fmt::format("signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", code);
}

StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::string& name, const std::vector<std::string>& command,
    const std::map<std::string, std::string>& variables, const std::string& log, bool append) {
  Descriptors fds;
  const int content = append ? 0 : O_TRUNC;
  fds.log = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | content, 0644);
  if (fds.log < 0)
    return FailedPrecondition("{}: cannot open the log for writing: {}", log, strerror(errno));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Internal("cannot create a pipe: {}", strerror(errno));
  fds.read_end = ends[0];
  fds.write_end = ends[1];
  std::vector<std::string> words = command, environment = EnvironmentWith(variables);
  const std::vector<char*> argv = Pointers(words), envp = Pointers(environment);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ResourceExhausted("{}: cannot create a process: {}", name, strerror(errno));
  if (pid == 0) BecomeCommand(fds.log, fds.write_end, parent, argv.data(), envp.data());
  close(std::exchange(fds.write_end, -1));
  int error = 0;
  const ssize_t got = read(fds.read_end, &error, sizeof(error));  // ends when exec succeeds
  if (got == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    return NotFound("{}: cannot run {}: {}", name, command[0], strerror(error));
  }
  const int watch = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  return std::unique_ptr<ChildProcess>(new ChildProcess(name, log, pid, watch));
}

ChildProcess::ChildProcess(std::string name, std::string log, pid_t pid, int watch_fd)
    : name_(std::move(name)), log_(std::move(log)), pid_(pid), watch_fd_(watch_fd) {}

ChildProcess::~ChildProcess() {
  if (!ended_) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (watch_fd_ >= 0) close(watch_fd_);
}

std::optional<ExitState> ChildProcess::Poll() {
  if (ended_) return ended_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  kill(-pid_, SIGKILL);  // processes that it left behind
  ExitState state;
  if (WIFSIGNALED(status)) {
    state.signal = WTERMSIG(status);
    state.code = 128 + state.signal;
  } else {
    state.code = WEXITSTATUS(status);
  }
  ended_ = state;
  return ended_;
}

void ChildProcess::Signal(int signal) {
  if (!ended_) kill(-pid_, signal);
}

void ChildProcess::Note(std::string_view line) const {
  // One write in append mode: the process may be writing too.
  const int fd = open(log_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  const std::string text = fmt::format("launcher: {}\n", line);
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
  close(fd);
}

std::string ChildProcess::LogTail(int lines) const {
  constexpr int64_t kMaxBytes = 16 << 10;
  std::ifstream file(log_, std::ios::binary | std::ios::ate);
  const int64_t size = file ? static_cast<int64_t>(file.tellg()) : 0;
  std::string text(static_cast<size_t>(std::min(size, kMaxBytes)), '\0');
  file.seekg(size - static_cast<int64_t>(text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text = WithoutTables(text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  size_t begin = text.size();
  for (int i = 0; i < lines && begin != std::string::npos && begin > 0; ++i) {
    begin = text.rfind('\n', begin - 1);
  }
  return begin == std::string::npos ? text : text.substr(begin == 0 ? 0 : begin + 1);
}

}  // namespace flotilla
