// A race of models on the same rows in memory: each is trained on one part of the rows, with
// batches of its own, and scored on the rest after every epoch; it leaves the race when its scores
// no longer get better. The best number of epochs differs by a factor of ten between models, so it
// is as much a result as the winner. The race prints nothing and keeps no parameters: the models
// that it chooses are trained again on all rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/run/compare_models.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

// A model of the race. REQUIRES: model.predict is set.
struct Racer {
  std::string name;
  Model model;
  int64_t batch_size = 1000;
  int64_t min_epochs = 1;  // before it may leave: those of its recipe, which may begin slowly
  int64_t max_epochs = 1;
};

// One epoch of a racer.
struct RaceEpoch {
  double value = kUndefined;  // of the watched metric on the rows held back
  double loss = 0;            // of the training rows
  double seconds = 0;         // of training and scoring
  // For the rows held back, (rows, columns). Kept of the best epoch and of the one after it.
  std::vector<float> predictions;
};

struct RaceResult {
  std::string name;
  std::vector<RaceEpoch> epochs;  // of this racer, the first at index 0
  Status dropped;                 // why it was left out, then without epochs; ok: it was not
  int64_t best_epochs = 0;        // number of epochs with the best value; 0: no value is defined

  // NaN if no value is defined.
  double value() const { return best_epochs == 0 ? kUndefined : epochs[best_epochs - 1].value; }
  double seconds() const;
};

// Rows by number: those to train on, and those held back to score.
struct RaceRows {
  std::vector<uint32_t> train;
  std::vector<uint32_t> test;
};

// Holds back a share of the rows: the last ones, or rows at random places that depend on the number
// of rows only. At most max_train of the others are trained on, and the share of max_train are held
// back: of the rest a random sample, or those next to the rows held back. REQUIRES: 0 < share < 1.
RaceRows HoldBack(int64_t rows, double share, bool last, int64_t max_train);

struct RaceOptions {
  int threads = 1;
  uint64_t seed = 0;
  bool deterministic = false;
  // TrainerOptions::max_bad_batches. A racer with more of them in an epoch, or with no other
  // batches, is dropped.
  int64_t max_bad_batches = 0;
  // A racer leaves after N epochs without a better value, but not before its min_epochs.
  int64_t patience = 1;
  // Called during training, by one worker at a time, and after every epoch. May be empty.
  std::function<void(const Racer& racer, const Progress& progress)> on_progress;
  std::function<void(const Racer& racer, const RaceEpoch& epoch)> on_epoch;
  // Called for each bad batch that is left out (TrainerOptions::on_bad_batch), by one worker at a
  // time, and for each racer that is dropped. May be empty.
  std::function<void(const Racer& racer, int64_t number, const std::string& text)> on_bad_batch;
  std::function<void(const Racer& racer, const Status& cause)> on_dropped;
  // Ends the race with Cancelled once it returns true. May be empty.
  std::function<bool()> stop;
};

// Results in the order of the racers. All of them watch the same metric. Errors name the racer:
// those of the model, the rows and the training. FailedPrecondition if every racer was dropped.
// REQUIRES: the dataset has the inputs of every
// model, in their order.
StatusOr<std::vector<RaceResult>> RunRace(std::span<const Racer> racers, InMemoryDataset& rows,
                                          const RaceRows& parts, const RaceOptions& options,
                                          const Clock& clock);

// A racer and the number of epochs to train it for.
struct RaceMember {
  int racer = 0;  // index in the results
  int64_t epochs = 0;

  bool operator==(const RaceMember&) const = default;
};

// What to train after a race.
struct RaceChoice {
  // The first racer that is not worse than the one with the best value by more than the standard
  // error of the difference.
  RaceMember best;
  std::vector<RaceMember> members;  // to train: `best`, or `pair`
  // `best` and the racer with which its mean is the best, and that mean against `best` alone. Empty
  // and not set if there is only one result.
  std::vector<RaceMember> pair;
  std::optional<ModelComparison> mean;
};

// The simplest of the best racers, if simple ones come first in `results`; or that one and another,
// if the mean of their predictions is better than it alone by more than the standard error of the
// difference. All others are tried, since the second best is often much like the best, and both
// after their best numbers of epochs or one more: what a model learns too much of its rows is
// noise, which a mean dampens. InvalidArgument if no racer has a value. `rows` are those held back.
StatusOr<RaceChoice> ChooseRacers(std::span<const RaceResult> results, bool larger_is_better,
                                  const LabelledRows& rows);

}  // namespace flotilla
