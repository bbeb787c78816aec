#include "flotilla/run/run_dir.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "flotilla/checkpoint/manifest.h"
#include "flotilla/checkpoint/model_dir.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/run/run_state.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

constexpr char kLock[] = ".run";
constexpr std::string_view kReplaced = ".replaced";
constexpr std::string_view kLinks[] = {"latest", "best"};

// Whether runs save models under this name.
bool IsModelName(std::string_view name) {
  return name.starts_with("epoch_") || name.starts_with("step_");
}

// An entry of the directory with the name of a model, complete or not.
struct FoundModel {
  int64_t epoch = -1;  // to continue with; -1: unknown
  int64_t step = -1;   // -1: unknown, the manifest cannot be read
  int64_t saved = 0;   // when, in seconds since 1970
  std::string name;
  Status status;  // of its manifest

  // Steps alone are not enough: they restart at 0 if a run continues with a fresh optimizer. Times
  // alone are not enough either: copies have their own.
  auto Order() const { return std::tie(epoch, step, saved, name); }
};

int64_t SavedSeconds(const fs::path& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_mtime) : 0;
}

// All saved models, oldest first. A save that was interrupted at its end has left the old model as
// NAME.replaced, which can be opened as NAME (checkpoint/model_dir.h).
std::vector<FoundModel> FindModels(const fs::path& dir) {
  std::vector<FoundModel> found;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    const std::string file = (at->path() / kManifestName).string();
    if (name.ends_with(kReplaced)) {
      name.resize(name.size() - kReplaced.size());
      std::error_code ignored;
      if (fs::exists(dir / name, ignored)) continue;
    }
    if (!IsModelName(name) || name.find('.') != std::string::npos) continue;
    FoundModel model{.name = name};
    const StatusOr<Manifest> manifest = ReadManifest((dir / name).string());
    model.status = manifest.status();
    model.saved = SavedSeconds(file);
    if (manifest.ok()) {
      model.step = manifest->info.step;
      const auto section = manifest->info.sections.find(kRunSection);
      if (section != manifest->info.sections.end()) {
        const StatusOr<RunState> state = RunState::FromText(section->second);
        if (state.ok()) model.epoch = state->epoch;
      }
    }
    found.push_back(std::move(model));
  }
  std::sort(found.begin(), found.end(),
            [](const FoundModel& a, const FoundModel& b) { return a.Order() < b.Order(); });
  return found;
}

std::string TimeText(int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(seconds)));
}

std::string NamesOf(const std::vector<FoundModel>& models) {
  std::vector<std::string> names;
  for (const FoundModel& model : models) names.push_back(model.name);
  constexpr size_t kMost = 4;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, {}, .., {}", names[0], names[1], names.back());
}

// The name of a link until it is complete.
std::string TemporaryLink(const std::string& dir, std::string_view link) {
  return fmt::format("{}/.{}.new", dir, link);
}

// The text of DIR/.run: one line.
std::string HolderText(const std::string& command) {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const std::string how = command.empty() ? "" : fmt::format(" by `{}`", command);
  return fmt::format("pid {} on {}, started {}{}", getpid(), host, TimeText(std::time(nullptr)),
                     how);
}

std::string TextOf(int fd) {
  std::string text(4096, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
  return text;
}

Status PathError(const std::string& dir, int error) {
  return FailedPrecondition("--out {}: cannot write to the directory: {}", dir,
                            std::strerror(error));
}

// Opens DIR/.run and locks it.
StatusOr<int> LockDir(const std::string& dir) {
  const std::string path = dir + "/" + kLock;
  while (true) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return PathError(dir, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      const std::string holder = TextOf(fd);
      close(fd);
      return FailedPrecondition(
          "--out {} is in use by another run ({}): wait for it to end, or give another directory",
          dir, holder.empty() ? "its details are not known" : holder);
    }
    struct stat by_fd, by_path;
    if (fstat(fd, &by_fd) == 0 && stat(path.c_str(), &by_path) == 0 &&
        by_fd.st_ino == by_path.st_ino) {
      return fd;
    }
    close(fd);  // the file of a run that has just ended and removed it
  }
}

Status RefuseModels(const RunDirOptions& options, const std::vector<FoundModel>& models,
                    const std::string& last_run) {
  const FoundModel& newest = models.back();
  return FailedPrecondition(
      "--out {} has models of another run: {}, the newest saved {} at step {}{}; give --resume to "
      "continue it, --overwrite to replace it, or another directory",
      options.dir, NamesOf(models), TimeText(newest.saved), newest.step,
      last_run.empty() ? "" : fmt::format(" ({})", last_run));
}

// Why DIR/latest cannot be used.
std::string LatestText(const fs::path& latest) {
  std::error_code error;
  const fs::path target = fs::read_symlink(latest, error);
  if (error) return "latest is missing";
  return fmt::format("latest points to {}, which {}", target.string(),
                     fs::exists(latest, error) ? "has no manifest" : "does not exist");
}

}  // namespace

StatusOr<std::string> FindResumed(const std::string& dir, const LogLine& warn) {
  const std::string latest = dir + "/latest";
  const Status status = ReadManifest(latest).status();
  if (status.ok()) return latest;
  if (!absl::IsNotFound(status)) return Annotate(status, "--resume");
  std::vector<FoundModel> models = FindModels(dir);
  std::error_code ignored;
  if (models.empty() && !fs::is_symlink(latest, ignored)) return std::string();
  const std::string why = LatestText(latest);
  std::vector<std::string> damaged;
  for (; !models.empty(); models.pop_back()) {
    const FoundModel& model = models.back();
    const std::string path = dir + "/" + model.name;
    const Status whole = model.status.ok() ? CheckpointReader::Open(path).status() : model.status;
    if (whole.ok()) {
      warn(fmt::format("--resume: {} in {}; continuing from {}, the newest complete model", why,
                       dir, model.name));
      return path;
    }
    damaged.push_back(fmt::format("{}: {}", model.name, Message(whole)));
  }
  return FailedPrecondition(
      "--resume: {} has no complete model to continue from ({}{}{}): restore one, or start a new "
      "run with --overwrite",
      dir, why, damaged.empty() ? "" : "; ", fmt::join(damaged, "; "));
}

std::vector<std::string> ModelsIn(const std::string& dir) {
  std::vector<std::string> names;
  for (FoundModel& model : FindModels(dir)) names.push_back(std::move(model.name));
  return names;
}

Status PointTo(const std::string& dir, const std::string& link, const std::string& name) {
  const std::string temporary = TemporaryLink(dir, link);
  std::error_code error, ignored;
  fs::remove(temporary, error);
  if (!error) fs::create_directory_symlink(name, temporary, error);
  if (!error) fs::rename(temporary, dir + "/" + link, error);
  if (!error) return absl::OkStatus();
  fs::remove(temporary, ignored);
  return FailedPrecondition("{}/{}: cannot create the link to {}: {}", dir, link, name,
                            error.message());
}

void RemoveLeftovers(const std::string& dir) {
  SweepLeftovers(dir, IsModelName);
  std::error_code ignored;
  for (const std::string_view link : kLinks) fs::remove(TemporaryLink(dir, link), ignored);
}

StatusOr<std::unique_ptr<RunDir>> RunDir::Open(const RunDirOptions& options, const LogLine& warn) {
  std::error_code error;
  const bool made = fs::create_directories(options.dir, error);
  if (error) return PathError(options.dir, error.value());
  if (fs::exists(fs::path(options.dir) / kManifestName, error)) {
    return FailedPrecondition("--out {} is itself a model: give a directory for models",
                              options.dir);
  }
  FL_ASSIGN_OR_RETURN(const int lock, LockDir(options.dir));
  std::unique_ptr<RunDir> run(new RunDir(options.dir, made, lock));
  RemoveLeftovers(options.dir);
  if (options.resume) {
    FL_ASSIGN_OR_RETURN(run->model_, FindResumed(options.dir, warn));
  } else if (!options.overwrite) {
    const std::vector<FoundModel> models = FindModels(options.dir);
    if (!models.empty()) return RefuseModels(options, models, TextOf(lock));
  }
  const std::string holder = HolderText(options.command);
  if (ftruncate(lock, 0) != 0 || pwrite(lock, holder.data(), holder.size(), 0) < 0) {
    return PathError(options.dir, errno);
  }
  return run;
}

RunDir::~RunDir() {
  // Still locked: a process that has opened the file will find that it was removed.
  if (made_ && FindModels(dir_).empty()) {
    unlink((dir_ + "/" + kLock).c_str());
    rmdir(dir_.c_str());
  }
  close(lock_);
}

}  // namespace flotilla
