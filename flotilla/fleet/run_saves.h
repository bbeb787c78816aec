// When a run saves its model (after epochs, every N steps or minutes, when it is stopped), what it
// saves with it, and how it restores its position in the data when it resumes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/fleet/model_keeper.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// The state of a run between two batches, stored in a model so that training can continue.
struct RunState {
  int64_t epoch = 0;                        // the epoch to continue with
  std::optional<DatasetPosition> position;  // inside it; none: at its start
  double best_auc = -1;                     // best test AUC; -1: none yet
  int64_t best_epoch = -1;                  // the epoch of best_auc; -1: none yet, or unknown
  double last_auc = -1;                     // test AUC after the last epoch; -1: none
  int64_t epochs_without_better = 0;
  // Inside an epoch: the options that determine which rows make up which batch, by flag name.
  std::map<std::string, std::string> settings;

  std::string ToText() const;
  static StatusOr<RunState> FromText(std::string_view text);
};

// Ok if `now` equals the settings of a state inside an epoch. Otherwise FailedPrecondition with the
// option that differs, both values, and the remedies. A state without settings passes.
Status CheckSettings(const RunState& state, const std::map<std::string, std::string>& now);

// The section of a model that holds the RunState.
inline constexpr char kRunSection[] = "run";

// The sections that inference needs, for a model whose rows have this format.
ModelSections DescribeModel(const Model& model, const ParserSpec& format);

// All sections that are stored besides the parameters: those for inference, and the state.
StatusOr<Sections> SectionsOf(const Model& model, const ParserSpec& format, const RunState& state);

class RunSaves {
 public:
  // REQUIRES: everything pointed to outlives the object. Without options.keep.out nothing is saved.
  static StatusOr<std::unique_ptr<RunSaves>> Make(const KeepOptions& options, const Model* model,
                                                  ParserSpec format, Communicator* communicator,
                                                  const Clock* clock,
                                                  ModelKeeperOptions keeper_options);

  // Whether a save between two batches is due. Thread-safe.
  bool Due();
  // Saves as DIR/step_N. REQUIRES: training is paused.
  Status SaveStep(const RunState& state);
  // Saves as DIR/epoch_N after that epoch if a save is due; after the `last` epoch always.
  Status SaveEpoch(int64_t epoch, bool best, bool last, const RunState& state);
  // Waits for the running save; returns the status of the last one.
  Status Wait() { return keeper_ == nullptr ? absl::OkStatus() : keeper_->Wait(); }

  bool enabled() const { return keeper_ != nullptr; }

 private:
  RunSaves(const KeepOptions& options, const Model* model, ParserSpec format,
           Communicator* communicator, const Clock* clock);
  Status Begin(const std::string& name, bool best, const RunState& state);
  void Restart();

  const KeepOptions options_;
  const Model* const model_;
  const ParserSpec format_;
  Communicator* const communicator_;
  const Clock* const clock_;
  std::unique_ptr<ModelKeeper> keeper_;
  std::atomic<int64_t> next_step_;
  std::atomic<int64_t> next_nanos_;
};

}  // namespace flotilla
