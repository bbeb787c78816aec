#include "flotilla/checkpoint/model_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

namespace fs = std::filesystem;

namespace {

constexpr char kSaving[] = ".saving";
constexpr char kReplaced[] = ".replaced";
constexpr char kRemoving[] = ".removing";

Status SystemError(const std::string& path, const char* what, int error) {
  const std::string cause = fmt::format("cannot {}: {}", what, std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) return ResourceExhausted("{}: {}", path, cause);
  if (error == ENOENT) return NotFound("{}: {}", path, cause);
  return Internal("{}: {}", path, cause);
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

StatusOr<int> OpenDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return SystemError(path, "open", errno);
  return fd;
}

// Whether the path still refers to the directory of the descriptor.
bool IsAt(int fd, const std::string& path) {
  struct stat by_fd, by_path;
  return fstat(fd, &by_fd) == 0 && lstat(path.c_str(), &by_path) == 0 &&
         by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev;
}

// False when another save holds the lock. On file systems without locks it always succeeds.
bool Lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

Status SyncDirectory(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const int fd, OpenDirectory(path));
  const int failed = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  // Some file systems have nothing to sync in a directory.
  return failed == 0 || failed == EINVAL ? absl::OkStatus() : SystemError(path, "sync", failed);
}

// The files of a model directory. Error when there is any other file, which would be lost.
StatusOr<std::vector<std::string>> ModelFiles(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    std::error_code ignored;
    if (!at->is_regular_file(ignored) ||
        (name != kManifestName && !name.ends_with(".safetensors"))) {
      return FailedPrecondition(
          "{}/{} is not part of a model: move it away, or save elsewhere; a save replaces the "
          "directory",
          path, name);
    }
    names.push_back(name);
  }
  if (error) return SystemError(path, "list", error.value());
  return names;
}

// Removes the files of a model, and the directory if requested.
Status Clear(const std::string& path, bool directory_too) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ModelFiles(path));
  for (const std::string& name : names) {
    if (unlink((path + "/" + name).c_str()) != 0 && errno != ENOENT) {
      return SystemError(path + "/" + name, "remove", errno);
    }
  }
  if (directory_too && rmdir(path.c_str()) != 0) return SystemError(path, "remove", errno);
  return absl::OkStatus();
}

// Checks that `dir` does not exist, is empty, or is a model.
Status CheckReplaceable(const std::string& dir) {
  if (!Exists(dir)) return absl::OkStatus();
  if (!fs::is_directory(dir)) return FailedPrecondition("{} is not a directory", dir);
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> names, ModelFiles(dir));
  for (const std::string& name : names) {
    if (name == kManifestName) return absl::OkStatus();
  }
  if (names.empty()) return absl::OkStatus();
  return FailedPrecondition("{}/{} does not belong to a model ({} is missing): save elsewhere", dir,
                            names[0], kManifestName);
}

// The path without links and trailing slashes: its siblings are the temporary directories.
StatusOr<std::string> RealPath(const std::string& dir) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(dir, error), error);
  if (error) return SystemError(dir, "resolve", error.value());
  if (!path.has_filename()) path = path.parent_path();
  if (dir.empty() || !path.has_relative_path()) {
    return InvalidArgument("'{}' cannot be a model directory", dir);
  }
  return path.string();
}

// Creates the directory if it does not exist, and locks it.
StatusOr<int> MakeLocked(const std::string& path, const std::string& dir) {
  // A round is repeated when another save ended during it.
  for (int round = 0; round < 10; ++round) {
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return SystemError(path, "make", errno);
    const auto fd = OpenDirectory(path);
    if (!fd.ok() && absl::IsNotFound(fd.status())) continue;
    FL_RETURN_IF_ERROR(fd.status());
    if (!Lock(*fd)) {
      close(*fd);
      break;
    }
    if (IsAt(*fd, path)) return *fd;
    close(*fd);
  }
  return FailedPrecondition("another save to {} is in progress (it holds {})", dir, path);
}

// Removes the leftovers of a killed save, except for the temporary directory itself.
Status Recover(const std::string& dir) {
  const std::string replaced = dir + kReplaced;
  if (!Exists(replaced)) return absl::OkStatus();
  if (Exists(dir)) return Clear(replaced, true);
  if (rename(replaced.c_str(), dir.c_str()) != 0) return SystemError(replaced, "rename", errno);
  return absl::OkStatus();
}

bool CannotExchange(int error) { return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP; }

}  // namespace

ModelDirSave::ModelDirSave(std::string dir, std::string temporary, int lock, bool exchange)
    : dir_(std::move(dir)), temporary_(std::move(temporary)), lock_(lock), exchange_(exchange) {}

ModelDirSave::ModelDirSave(ModelDirSave&& other) noexcept
    : dir_(std::move(other.dir_)),
      temporary_(std::move(other.temporary_)),
      lock_(std::exchange(other.lock_, -1)),
      exchange_(other.exchange_),
      committed_(other.committed_) {}

StatusOr<ModelDirSave> ModelDirSave::Begin(const std::string& dir, bool exchange) {
  FL_ASSIGN_OR_RETURN(const std::string path, RealPath(dir));
  const std::string parent = fs::path(path).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return SystemError(parent, "make", error.value());
  const std::string temporary = path + kSaving;
  FL_ASSIGN_OR_RETURN(const int lock, MakeLocked(temporary, path));
  ModelDirSave save(path, temporary, lock, exchange);
  FL_RETURN_IF_ERROR(Clear(temporary, false));
  FL_RETURN_IF_ERROR(Recover(path));
  FL_RETURN_IF_ERROR(CheckReplaceable(path));
  return save;
}

ModelDirSave::~ModelDirSave() {
  if (lock_ < 0) return;
  // Leftovers that cannot be removed now are removed by the next save.
  if (!committed_) Clear(temporary_, true).IgnoreError();
  close(lock_);
}

Status ModelDirSave::Commit(bool sync) {
  if (sync) FL_RETURN_IF_ERROR(SyncDirectory(temporary_));
  FL_RETURN_IF_ERROR(CheckReplaceable(dir_));
  FL_RETURN_IF_ERROR(Replace());
  committed_ = true;
  return sync ? SyncDirectory(fs::path(dir_).parent_path()) : absl::OkStatus();
}

Status ModelDirSave::Replace() {
  if (!Exists(dir_)) {
    if (rename(temporary_.c_str(), dir_.c_str()) == 0) return absl::OkStatus();
    return SystemError(temporary_, "rename", errno);
  }
  // After the exchange the old model is at the path where the next save starts: no save may start
  // before it is removed.
  FL_ASSIGN_OR_RETURN(const int old, OpenDirectory(dir_));
  Lock(old);
  const std::string replaced = dir_ + kReplaced;
  std::string leftover = temporary_;
  Status status;
  if (!exchange_ ||
      renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, dir_.c_str(), RENAME_EXCHANGE) != 0) {
    if (exchange_ && !CannotExchange(errno)) {
      status = SystemError(dir_, "replace", errno);
    } else if (rename(dir_.c_str(), replaced.c_str()) != 0) {
      status = SystemError(dir_, "rename", errno);
    } else if (rename(temporary_.c_str(), dir_.c_str()) != 0) {
      status = SystemError(temporary_, "rename", errno);
      // If this fails too, readers and the next save find the old model there.
      static_cast<void>(rename(replaced.c_str(), dir_.c_str()));
    }
    leftover = replaced;
  }
  // The new model is in place: leftovers that cannot be removed now are removed by the next save.
  if (status.ok()) Clear(leftover, true).IgnoreError();
  close(old);
  return status;
}

Status RemoveModelDir(const std::string& dir) {
  const std::string removing = dir + kRemoving;
  const bool exists = Exists(dir);
  if (exists) FL_RETURN_IF_ERROR(ModelFiles(dir).status());
  if (Exists(removing)) FL_RETURN_IF_ERROR(Clear(removing, true));
  if (!exists) return absl::OkStatus();
  if (rename(dir.c_str(), removing.c_str()) != 0) return SystemError(dir, "rename", errno);
  return Clear(removing, true);
}

void SweepLeftovers(const std::string& parent,
                    const std::function<bool(const std::string& name)>& is_model) {
  std::vector<std::string> left;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!fs::is_directory(at->symlink_status(ignored))) continue;
    const std::string name = at->path().filename();
    for (const std::string_view suffix : {kRemoving, kSaving, kReplaced}) {
      if (!name.ends_with(suffix)) continue;
      const std::string model = name.substr(0, name.size() - suffix.size());
      if (!is_model(model)) continue;
      if (suffix != kReplaced || Exists(parent + "/" + model)) left.push_back(at->path());
    }
  }
  for (const std::string& path : left) {
    const StatusOr<int> fd = OpenDirectory(path);
    if (!fd.ok()) continue;
    if (Lock(*fd)) Clear(path, true).IgnoreError();
    close(*fd);
  }
}

StatusOr<int> OpenModelDir(const std::string& dir) {
  auto fd = OpenDirectory(dir);
  if (fd.ok() || !absl::IsNotFound(fd.status())) return fd;
  const auto path = RealPath(dir);
  if (!path.ok()) return fd;
  auto replaced = OpenDirectory(*path + kReplaced);
  return replaced.ok() ? replaced : fd;
}

}  // namespace flotilla
