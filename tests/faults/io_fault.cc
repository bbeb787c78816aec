#include "tests/faults/io_fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace flotilla {
namespace {

// Constant-initialized: the functions below may be called before any constructor has run.
std::atomic<bool> counting = false;
std::mutex mutex;

struct State {
  IoFault fault;
  std::vector<IoCall> calls;
  std::string log;  // empty: none
};

// Never destroyed: calls may come until the process ends.
State& TheState() {
  static State* const state = new State;
  return *state;
}

// The function of the C library that a function here replaces.
template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string LinkTarget(const std::string& link) {
  char buffer[4096];
  const ssize_t size = readlink(link.c_str(), buffer, sizeof(buffer));
  return size < 0 ? std::string() : std::string(buffer, static_cast<size_t>(size));
}

std::string PathOf(int fd) { return LinkTarget("/proc/self/fd/" + std::to_string(fd)); }

std::string PathOf(int directory, const char* path) {
  if (path[0] == '/') return path;
  return (directory == AT_FDCWD ? LinkTarget("/proc/self/cwd") : PathOf(directory)) + "/" + path;
}

bool IsBelow(const std::string& path, const std::string& dir) {
  return path.compare(0, dir.size(), dir) == 0 &&
         (path.size() == dir.size() || path[dir.size()] == '/');
}

void Log(const State& state, const IoCall& call) {
  if (state.log.empty()) return;
  const std::string line = std::to_string(state.calls.size()) +
                           (call.failed ? " failed " : " ok ") + call.function + " " + call.path +
                           "\n";
  const int fd = Real<int(const char*, int, ...)>("open")(
      state.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  // One write, so that the lines of several processes do not mix.
  static_cast<void>(
      !Real<ssize_t(int, const void*, size_t)>("write")(fd, line.data(), line.size()));
  Real<int(int)>("close")(fd);
}

// Counts a call, and returns whether it must fail, with errno set.
bool Fails(const char* function, const std::string& path) {
  const int before = errno;
  std::lock_guard lock(mutex);
  State& state = TheState();
  if (!counting || !IsBelow(path, state.fault.dir)) {
    errno = before;
    return false;
  }
  IoCall& call = state.calls.emplace_back(IoCall{.function = function, .path = path});
  const auto number = static_cast<int64_t>(state.calls.size());
  const IoFault& fault = state.fault;
  call.failed = fault.first > 0 && number >= fault.first && number - fault.first < fault.count;
  Log(state, call);
  errno = call.failed ? fault.error : before;
  return call.failed;
}

bool FailsAt(const char* function, int directory, const char* path) {
  return counting && Fails(function, PathOf(directory, path));
}

bool FailsFor(const char* function, int fd) { return counting && Fails(function, PathOf(fd)); }

// Opening for reading is not counted, unless it is a directory: a save lists and syncs those.
bool OpenFails(const char* function, int directory, const char* path, int flags) {
  const bool counts = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_DIRECTORY)) != 0;
  return counts && FailsAt(function, directory, path);
}

bool IsOpenForWriting(int fd) { return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY; }

const char* Variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

// Takes the fault of the environment when the library is loaded.
__attribute__((constructor)) void StartFromEnvironment() {
  IoFault fault{.dir = Variable("FLOTILLA_IO_FAULT_DIR")};
  if (fault.dir.empty()) return;
  fault.first = atoll(Variable("FLOTILLA_IO_FAULT_FIRST"));
  if (const char* const count = Variable("FLOTILLA_IO_FAULT_COUNT"); *count != '\0') {
    fault.count = atoll(count);
  }
  if (strcmp(Variable("FLOTILLA_IO_FAULT_ERROR"), "ENOSPC") == 0) fault.error = ENOSPC;
  TheState().log = Variable("FLOTILLA_IO_FAULT_LOG");
  StartIoFault(fault);
}

}  // namespace

void StartIoFault(const IoFault& fault) {
  std::lock_guard lock(mutex);
  TheState().fault = fault;
  TheState().calls.clear();
  counting = true;
}

std::vector<IoCall> EndIoFault() {
  std::lock_guard lock(mutex);
  counting = false;
  return TheState().calls;
}

}  // namespace flotilla

// The functions of the C library, under their names. Each calls the one it replaces, which it looks
// up once.
#define FLOTILLA_REPLACED extern "C" __attribute__((visibility("default")))
#define FLOTILLA_REAL(name) static auto* const real = ::flotilla::Real<decltype(name)>(#name)

using ::flotilla::FailsAt;
using ::flotilla::FailsFor;
using ::flotilla::OpenFails;

#define FLOTILLA_REPLACE_OPEN(name)                              \
  FLOTILLA_REPLACED int name(const char* path, int flags, ...) { \
    FLOTILLA_REAL(name);                                         \
    va_list arguments;                                           \
    va_start(arguments, flags);                                  \
    const mode_t mode = va_arg(arguments, mode_t);               \
    va_end(arguments);                                           \
    if (OpenFails(#name, AT_FDCWD, path, flags)) return -1;      \
    return real(path, flags, mode);                              \
  }
FLOTILLA_REPLACE_OPEN(open)
FLOTILLA_REPLACE_OPEN(open64)

#define FLOTILLA_REPLACE_OPENAT(name)                                           \
  FLOTILLA_REPLACED int name(int directory, const char* path, int flags, ...) { \
    FLOTILLA_REAL(name);                                                        \
    va_list arguments;                                                          \
    va_start(arguments, flags);                                                 \
    const mode_t mode = va_arg(arguments, mode_t);                              \
    va_end(arguments);                                                          \
    if (OpenFails(#name, directory, path, flags)) return -1;                    \
    return real(directory, path, flags, mode);                                  \
  }
FLOTILLA_REPLACE_OPENAT(openat)
FLOTILLA_REPLACE_OPENAT(openat64)

FLOTILLA_REPLACED DIR* opendir(const char* path) {
  FLOTILLA_REAL(opendir);
  return FailsAt("opendir", AT_FDCWD, path) ? nullptr : real(path);
}
FLOTILLA_REPLACED ssize_t write(int fd, const void* data, size_t size) {
  FLOTILLA_REAL(write);
  return FailsFor("write", fd) ? -1 : real(fd, data, size);
}
FLOTILLA_REPLACED ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  FLOTILLA_REAL(pwrite);
  return FailsFor("pwrite", fd) ? -1 : real(fd, data, size, offset);
}
FLOTILLA_REPLACED ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  FLOTILLA_REAL(pwrite64);
  return FailsFor("pwrite64", fd) ? -1 : real(fd, data, size, offset);
}
FLOTILLA_REPLACED int fallocate(int fd, int mode, off_t offset, off_t length) {
  FLOTILLA_REAL(fallocate);
  return FailsFor("fallocate", fd) ? -1 : real(fd, mode, offset, length);
}
FLOTILLA_REPLACED int ftruncate(int fd, off_t length) noexcept {
  FLOTILLA_REAL(ftruncate);
  return FailsFor("ftruncate", fd) ? -1 : real(fd, length);
}
FLOTILLA_REPLACED int fsync(int fd) { return FailsFor("fsync", fd) ? -1 : 0; }
FLOTILLA_REPLACED int fdatasync(int fd) { return FailsFor("fdatasync", fd) ? -1 : 0; }
FLOTILLA_REPLACED int close(int fd) {
  FLOTILLA_REAL(close);
  const bool counts = ::flotilla::counting && ::flotilla::IsOpenForWriting(fd);
  if (!counts || !FailsFor("close", fd)) return real(fd);
  const int error = errno;
  real(fd);
  errno = error;
  return -1;
}
FLOTILLA_REPLACED int mkdir(const char* path, mode_t mode) noexcept {
  FLOTILLA_REAL(mkdir);
  return FailsAt("mkdir", AT_FDCWD, path) ? -1 : real(path, mode);
}
FLOTILLA_REPLACED int rmdir(const char* path) noexcept {
  FLOTILLA_REAL(rmdir);
  return FailsAt("rmdir", AT_FDCWD, path) ? -1 : real(path);
}
FLOTILLA_REPLACED int unlink(const char* path) noexcept {
  FLOTILLA_REAL(unlink);
  return FailsAt("unlink", AT_FDCWD, path) ? -1 : real(path);
}
FLOTILLA_REPLACED int unlinkat(int directory, const char* path, int flags) noexcept {
  FLOTILLA_REAL(unlinkat);
  return FailsAt("unlinkat", directory, path) ? -1 : real(directory, path, flags);
}
FLOTILLA_REPLACED int remove(const char* path) noexcept {
  FLOTILLA_REAL(remove);
  return FailsAt("remove", AT_FDCWD, path) ? -1 : real(path);
}
FLOTILLA_REPLACED int symlink(const char* target, const char* path) noexcept {
  FLOTILLA_REAL(symlink);
  return FailsAt("symlink", AT_FDCWD, path) ? -1 : real(target, path);
}
FLOTILLA_REPLACED int rename(const char* from, const char* to) noexcept {
  FLOTILLA_REAL(rename);
  return FailsAt("rename", AT_FDCWD, from) ? -1 : real(from, to);
}
FLOTILLA_REPLACED int renameat(int from_dir, const char* from, int to_dir,
                               const char* to) noexcept {
  FLOTILLA_REAL(renameat);
  return FailsAt("renameat", from_dir, from) ? -1 : real(from_dir, from, to_dir, to);
}
FLOTILLA_REPLACED int renameat2(int from_dir, const char* from, int to_dir, const char* to,
                                unsigned int flags) noexcept {
  FLOTILLA_REAL(renameat2);
  return FailsAt("renameat2", from_dir, from) ? -1 : real(from_dir, from, to_dir, to, flags);
}
