// The state of a run that a model stores besides its parameters, so that training can continue, and
// the sections of a model file that hold it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/run/epoch_shares.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// The state of a run between two batches, stored in a model so that training can continue.
struct RunState {
  int64_t epoch = 0;                        // the epoch to continue with
  std::optional<DatasetPosition> position;  // inside it; none: at its start
  Report so_far;                            // of the epoch up to the position: figures and times
  int64_t earlier_steps = 0;                // that the model's global step does not count (GEO)
  std::string watch;                        // the metric that best and last are of; empty: none
  double best = kUndefined;                 // its best test value
  int64_t best_epoch = -1;                  // the epoch of best; -1: none yet, or unknown
  double last = kUndefined;                 // its test value after the last epoch
  int64_t epochs_without_better = 0;
  std::string tested;      // Task::test_data of these values; empty: not known
  double rate_factor = 1;  // that the schedule's learning rates are multiplied by (--plateau)
  // Inside an epoch: the options that determine which rows make up which batch, by flag name.
  std::map<std::string, std::string> settings;
  // Of the run that saved it: its data and its learning rate, by flag name (RunOptionsOf).
  std::map<std::string, std::string> options;
  // Inside an epoch: the shares of the data that `position` is in. Of several shares, it has parts.
  EpochShares shares;
  // Inside an epoch of a job: the states of trainers 1, 2, .. as texts, each with its position,
  // figures and settings.
  std::vector<std::string> others;

  // Sets the metric of the run. Figures of another metric are forgotten.
  void Watch(const std::string& metric);
  // Sets the test data of the run. Figures of other data are forgotten; returns whether there were
  // any.
  bool TestOn(const std::string& data);
  // Takes the test value of the watched metric after an epoch. Returns whether it is the best so
  // far; otherwise it counts the epoch as one without a better value.
  bool NoteTest(int64_t tested_epoch, double value, bool larger_is_better);
  // Makes the position, shares, figures and settings those of one trainer of a job. If the state is
  // inside an epoch of another number of trainers, the shares and figures of all are dealt out
  // anew; a trainer without a share has no position. FailedPrecondition if the data was not divided
  // into shares that any trainer can read. `metrics` are those of the model.
  Status TakePlace(int trainer, int trainers, std::span<const MetricSpec> metrics);

  void ForgetBest();
  // TakePlace with the states that the trainers saved.
  Status TakeOwn(const RunState& saved, int trainer);
  Status TakeShares(std::span<const RunState> saved, int trainer, int trainers,
                    std::span<const MetricSpec> metrics);

  std::string ToText() const;
  // Also reads the states of models whose watched metric was always "auc".
  static StatusOr<RunState> FromText(std::string_view text);
};

// Ok if `now` equals the settings of a state inside an epoch. Otherwise FailedPrecondition with the
// option that differs, both values, and the remedies. A state without settings passes.
Status CheckSettings(const RunState& state, const std::map<std::string, std::string>& now);

// What a resumed run may change and its user may have changed by mistake: the settings of the task,
// and the learning rate.
std::map<std::string, std::string> RunOptionsOf(const std::map<std::string, std::string>& settings,
                                                const Model& model);

// "--learning_rate was 0.1, now 0.01": what differs among the options that both runs have; empty:
// nothing.
std::string ChangedOptions(const std::map<std::string, std::string>& before,
                           const std::map<std::string, std::string>& now);

// The section of a model that holds the RunState.
inline constexpr char kRunSection[] = "run";

// The sections that inference needs, for a model whose rows have this format.
ModelSections DescribeModel(const Model& model, const ParserSpec& format);

// All sections that are stored besides the parameters: those for inference, and the state.
StatusOr<Sections> SectionsOf(const Model& model, const ParserSpec& format, const RunState& state);

}  // namespace flotilla
