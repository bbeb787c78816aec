// When a run saves its model and what it saves with it: after epochs, every so many steps or
// minutes, when it is stopped; and how it finds its way back into the data when it resumes.
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

// Where a run stands between two batches: what a model carries so that training can go on.
struct RunState {
  int64_t epoch = 0;                        // the one to go on with
  std::optional<DatasetPosition> position;  // inside it; none: at its start
  double best_auc = -1;                     // of the test rows; -1: none yet
  int64_t best_epoch = -1;                  // after which; -1: none yet, or not known
  double last_auc = -1;                     // of the test rows after the last epoch; -1: none
  int64_t epochs_without_better = 0;
  // Inside an epoch: the options that say which rows make which batch, by the names of their flags.
  std::map<std::string, std::string> settings;

  std::string ToText() const;
  static StatusOr<RunState> FromText(std::string_view text);
};

// Ok when `now` are the settings of a state inside an epoch. Otherwise FailedPrecondition: which
// option differs, both values, and what to do. A state without settings passes.
Status CheckSettings(const RunState& state, const std::map<std::string, std::string>& now);

// The section of a model that holds the RunState.
inline constexpr char kRunSection[] = "run";

// What inference must know of a model whose rows have this format.
ModelSections DescribeModel(const Model& model, const ParserSpec& format);

// Everything that is stored beside the parameters: what inference needs, and the state.
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
  // Saves as DIR/step_N. REQUIRES: training stands still.
  Status SaveStep(const RunState& state);
  // Saves as DIR/epoch_N after that epoch; `last` of the run: in any case.
  Status SaveEpoch(int64_t epoch, bool best, bool last, const RunState& state);
  // Waits for the save under way; how the last one ended.
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
