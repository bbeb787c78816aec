#include "flotilla/run/run_saves.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace flotilla {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

StatusOr<std::unique_ptr<RunSaves>> RunSaves::Make(const KeepOptions& options, const Task* task,
                                                   Communicator* communicator, const Clock* clock,
                                                   ModelKeeperOptions keeper_options) {
  std::unique_ptr<RunSaves> saves(new RunSaves(options, task, communicator, clock));
  if (options.out.empty()) return saves;
  // Finds a model that cannot be saved before an epoch is trained in vain.
  FL_RETURN_IF_ERROR(task->sections().status());
  keeper_options.dir = options.out;
  keeper_options.keep = options.keep;
  keeper_options.overwrite = options.overwrite;
  saves->keeper_ = std::make_unique<ModelKeeper>(communicator, std::move(keeper_options));
  saves->Restart();
  return saves;
}

RunSaves::RunSaves(const KeepOptions& options, const Task* task, Communicator* communicator,
                   const Clock* clock)
    : options_(options),
      task_(task),
      communicator_(communicator),
      clock_(clock),
      next_step_(kNever),
      next_nanos_(kNever) {}

void RunSaves::Restart() {
  if (options_.every_steps > 0) next_step_ = communicator_->global_step() + options_.every_steps;
  if (const double minutes = options_.every_minutes.value_or(0); minutes > 0) {
    next_nanos_ = clock_->NowNanos() + static_cast<int64_t>(minutes * 60e9);
  }
}

bool RunSaves::Due() {
  if (keeper_ == nullptr || keeper_->busy()) return false;
  if (next_step_ != kNever && communicator_->global_step() >= next_step_) return true;
  return next_nanos_ != kNever && clock_->NowNanos() >= next_nanos_;
}

Status RunSaves::SaveStep(const RunState& state) {
  if (keeper_ == nullptr) return absl::OkStatus();
  return Begin(fmt::format("step_{}", communicator_->global_step()), false, state);
}

Status RunSaves::SaveEpoch(int64_t epoch, bool best, bool last, const RunState& state) {
  if (keeper_ == nullptr) return absl::OkStatus();
  const bool its_turn = options_.every_epochs > 0 && (epoch + 1) % options_.every_epochs == 0;
  if (!its_turn && !last && !best) return absl::OkStatus();
  return Begin(fmt::format("epoch_{}", epoch), best, state);
}

Status RunSaves::Begin(const std::string& name, bool best, const RunState& state) {
  FL_ASSIGN_OR_RETURN(Sections sections, task_->sections());
  sections[kRunSection] = state.ToText();
  FL_RETURN_IF_ERROR(keeper_->Begin(name, best, std::move(sections)));
  Restart();
  return absl::OkStatus();
}

}  // namespace flotilla
