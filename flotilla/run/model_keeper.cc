#include "flotilla/run/model_keeper.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "flotilla/checkpoint/manifest.h"
#include "flotilla/checkpoint/model_dir.h"
#include "flotilla/run/run_dir.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

constexpr char kLatest[] = "latest";
constexpr char kBest[] = "best";

std::string Target(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? std::string() : target.filename().string();
}

}  // namespace

ModelKeeper::ModelKeeper(Communicator* communicator, ModelKeeperOptions options)
    : communicator_(communicator), options_(std::move(options)) {
  if (options_.overwrite) {
    replaced_ = ModelsIn(options_.dir);
  } else {
    best_ = Target(fs::path(options_.dir) / kBest);
    kept_ = ModelsIn(options_.dir);
  }
}

ModelKeeper::~ModelKeeper() {
  if (writer_.joinable()) writer_.join();
}

Status ModelKeeper::Begin(const std::string& name, bool best, Sections sections) {
  if (writer_.joinable()) writer_.join();
  StatusOr<std::unique_ptr<PendingSave>> save = communicator_->BeginSave({});
  if (!save.ok()) return Annotate(save.status(), "save " + name);
  busy_ = true;
  writer_ = std::thread(&ModelKeeper::WriteInBackground, this, *std::move(save), name, best,
                        std::move(sections));
  return absl::OkStatus();
}

Status ModelKeeper::Wait() {
  if (writer_.joinable()) writer_.join();
  return last_;
}

void ModelKeeper::WriteInBackground(std::unique_ptr<PendingSave> save, std::string name, bool best,
                                    Sections sections) {
  const auto start = std::chrono::steady_clock::now();
  const int64_t step = save->global_step();
  const std::string dir = (fs::path(options_.dir) / name).string();
  last_ = Write(*save, name, best, sections);
  save.reset();  // ends the cut
  if (!last_.ok() && best) {
    last_ =
        Status(last_.code(),
               fmt::format("{}; it is the best so far, but {}/{} {}", Message(last_), options_.dir,
                           kBest, best_.empty() ? "does not exist" : "is still " + best_));
  }
  Status removed;
  if (last_.ok()) removed = RemoveOthers(name);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!last_.ok()) ++failed_;
  if (last_.ok() && options_.on_saved) options_.on_saved(dir, step, seconds.count());
  if (!last_.ok() && options_.on_failed) options_.on_failed(dir, last_);
  if (!removed.ok() && options_.on_not_removed) options_.on_not_removed(removed);
  busy_ = false;
}

Status ModelKeeper::Write(PendingSave& save, const std::string& name, bool best,
                          const Sections& sections) {
  const std::string model = (fs::path(options_.dir) / name).string();
  const Status written = save.Write(model, sections);
  // After an error of the last sync or of a link the model is complete: it will be removed in its
  // turn.
  std::error_code ignored;
  const bool known = std::count(kept_.begin(), kept_.end(), name) > 0 ||
                     std::count(replaced_.begin(), replaced_.end(), name) > 0;
  if (!known && fs::exists(fs::path(model) / kManifestName, ignored)) kept_.push_back(name);
  FL_RETURN_IF_ERROR(written);
  std::erase(kept_, name);
  kept_.push_back(name);
  FL_RETURN_IF_ERROR(PointTo(options_.dir, kLatest, name));
  if (best) {
    FL_RETURN_IF_ERROR(PointTo(options_.dir, kBest, name));
    best_ = name;
  }
  return absl::OkStatus();
}

Status ModelKeeper::RemoveOthers(const std::string& newest) {
  RemoveLeftovers(options_.dir);
  FL_RETURN_IF_ERROR(RemoveReplaced(newest));
  return RemoveOld(newest);
}

Status ModelKeeper::Remove(const std::string& name) {
  const Status removed = RemoveModelDir((fs::path(options_.dir) / name).string());
  // A model directory that contains files of others is not removed.
  return absl::IsFailedPrecondition(removed) ? absl::OkStatus() : removed;
}

Status ModelKeeper::RemoveReplaced(const std::string& newest) {
  if (replaced_.empty()) return absl::OkStatus();
  // Removed before its model, a dangling link is worse than none, and even if the new model has the
  // name that it points to.
  std::error_code error;
  if (best_.empty()) fs::remove(fs::path(options_.dir) / kBest, error);
  if (error) {
    return FailedPrecondition("{}/{}: cannot remove: {}", options_.dir, kBest, error.message());
  }
  std::erase(replaced_, newest);  // replaced by this run's own
  while (!replaced_.empty()) {
    FL_RETURN_IF_ERROR(Remove(replaced_.back()));
    replaced_.pop_back();
  }
  return absl::OkStatus();
}

Status ModelKeeper::RemoveOld(const std::string& newest) {
  if (options_.keep == 0) return absl::OkStatus();
  // The best model does not count: it is kept in addition to the newest ones.
  while (true) {
    const auto others = std::count_if(kept_.begin(), kept_.end(),
                                      [&](const std::string& name) { return name != best_; });
    const int64_t limit = best_ == newest ? options_.keep - 1 : options_.keep;
    if (others <= limit) return absl::OkStatus();
    const auto oldest = std::find_if(kept_.begin(), kept_.end(),
                                     [&](const std::string& name) { return name != best_; });
    FL_RETURN_IF_ERROR(Remove(*oldest));
    kept_.erase(oldest);
  }
}

}  // namespace flotilla
