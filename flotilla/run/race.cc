#include "flotilla/run/race.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "flotilla/base/rng.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/shuffle.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

// Of the rows held back, which are only scored.
constexpr int64_t kTestBatch = 1000;

bool IsBetter(double value, double than, bool larger_is_better) {
  if (std::isnan(value)) return false;
  return std::isnan(than) || (larger_is_better ? value > than : value < than);
}

// The racer after its best number of epochs, and after one more if it trained for it.
std::vector<RaceMember> SinceBest(std::span<const RaceResult> results, const RaceMember& best) {
  std::vector<RaceMember> members = {best};
  if (results[best.racer].epochs.size() > static_cast<size_t>(best.epochs)) {
    members.push_back({best.racer, best.epochs + 1});
  }
  return members;
}

// In a race in one process, on rows that have been read, nothing else has this code.
bool HasTooManyBadBatches(const Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition;
}

// One racer on its way.
class Lap {
 public:
  Lap(const Racer& racer, const RaceOptions& options, const Clock& clock)
      : racer_(racer), options_(options), clock_(clock) {}

  Status Prepare(InMemoryDataset& rows, const RaceRows& parts);
  StatusOr<RaceResult> Run();

 private:
  Status RunEpoch();

  const Racer& racer_;
  const RaceOptions& options_;
  const Clock& clock_;
  WatchedMetric watched_;
  std::unique_ptr<InMemoryDataset> train_, test_;
  std::unique_ptr<LocalCommunicator> parameters_;
  std::unique_ptr<Trainer> trainer_;
  RaceResult result_;
};

Status Lap::Prepare(InMemoryDataset& rows, const RaceRows& parts) {
  result_.name = racer_.name;
  FL_ASSIGN_OR_RETURN(watched_, WatchedMetricOf(racer_.model));
  if (watched_.name.empty()) return InvalidArgument("the model has no metric to watch");
  FL_ASSIGN_OR_RETURN(train_, rows.View({.batch_size = racer_.batch_size,
                                         .shuffle_rows = kWholeEpoch,
                                         .seed = options_.seed},
                                        parts.train));
  FL_ASSIGN_OR_RETURN(test_, rows.View({.batch_size = kTestBatch}, parts.test));
  FL_ASSIGN_OR_RETURN(parameters_, LocalCommunicator::Make(SpecOf(racer_.model, options_.seed),
                                                           {.joined = options_.deterministic}));
  TrainerOptions trainer{.workers = options_.threads, .seed = options_.seed};
  trainer.max_bad_batches = options_.max_bad_batches;
  if (options_.on_bad_batch) {
    trainer.on_bad_batch = [this](int64_t number, const std::string& text) {
      options_.on_bad_batch(racer_, number, text);
    };
  }
  if (options_.on_progress) {
    trainer.progress_batches = 1;
    trainer.on_progress = [this](const Progress& progress) {
      options_.on_progress(racer_, progress);
    };
  }
  trainer.stop = options_.stop;
  FL_ASSIGN_OR_RETURN(trainer_,
                      Trainer::Make(&racer_.model, parameters_.get(), &clock_, std::move(trainer)));
  return absl::OkStatus();
}

Status Lap::RunEpoch() {
  const int64_t start = clock_.NowNanos();
  const auto epoch = static_cast<int64_t>(result_.epochs.size());
  FL_ASSIGN_OR_RETURN(const Report train, trainer_->TrainEpoch(*train_, epoch));
  if (train.stopped) return absl::CancelledError("the race was stopped");
  if (train.rows == 0 && train.bad_batches > 0) {
    return FailedPrecondition("every batch of epoch {} is bad, {} in all: {}", epoch,
                              train.bad_batches, train.bad_batch_texts[0]);
  }
  RaceEpoch done{.loss = train.loss};
  FL_ASSIGN_OR_RETURN(const Report test, trainer_->Evaluate(*test_, &done.predictions));
  done.value = test.Metric(watched_.name);
  done.seconds = static_cast<double>(clock_.NowNanos() - start) * 1e-9;
  if (IsBetter(done.value, result_.value(), watched_.larger_is_better)) {
    for (RaceEpoch& earlier : result_.epochs) earlier.predictions = {};
    result_.best_epochs = epoch + 1;
  } else if (epoch > result_.best_epochs) {
    done.predictions = {};
  }
  result_.epochs.push_back(std::move(done));
  if (options_.on_epoch) options_.on_epoch(racer_, result_.epochs.back());
  return absl::OkStatus();
}

StatusOr<RaceResult> Lap::Run() {
  int64_t done = 0;
  while (done < racer_.max_epochs &&
         (done < racer_.min_epochs || done - result_.best_epochs < options_.patience)) {
    const Status status = RunEpoch();
    if (HasTooManyBadBatches(status)) {
      return RaceResult{.name = racer_.name, .epochs = {}, .dropped = status};
    }
    FL_RETURN_IF_ERROR(status);
    ++done;
  }
  return std::move(result_);
}

}  // namespace

double RaceResult::seconds() const {
  return std::accumulate(epochs.begin(), epochs.end(), 0.0,
                         [](double sum, const RaceEpoch& epoch) { return sum + epoch.seconds; });
}

RaceRows HoldBack(int64_t rows, double share, bool last, int64_t max_train) {
  std::vector<uint32_t> order;
  if (last) {
    order.resize(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
  } else {
    ShuffledOrder(RngKey(0).With("hold back"), static_cast<uint64_t>(rows), &order);
  }
  const auto share_of = [&](int64_t of) {
    return static_cast<int64_t>(std::llround(share * static_cast<double>(of)));
  };
  const int64_t test =
      std::clamp<int64_t>(std::min(share_of(rows), share_of(max_train)), rows > 1 ? 1 : 0, rows);
  const int64_t train = std::min(rows - test, max_train);
  const auto end = order.end() - test;
  RaceRows parts{.train = {end - train, end}, .test = {end, order.end()}};
  // In the order of the files, which is faster to read than a random one.
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.test.begin(), parts.test.end());
  return parts;
}

StatusOr<std::vector<RaceResult>> RunRace(std::span<const Racer> racers, InMemoryDataset& rows,
                                          const RaceRows& parts, const RaceOptions& options,
                                          const Clock& clock) {
  std::vector<RaceResult> results;
  for (const Racer& racer : racers) {
    Lap lap(racer, options, clock);
    FL_RETURN_IF_ERROR(Annotate(lap.Prepare(rows, parts), racer.name));
    StatusOr<RaceResult> result = lap.Run();
    if (!result.ok()) return Annotate(result.status(), racer.name);
    results.push_back(*std::move(result));
    const Status& dropped = results.back().dropped;
    if (!dropped.ok() && options.on_dropped) options.on_dropped(racer, dropped);
  }
  const auto is_left = [](const RaceResult& result) { return result.dropped.ok(); };
  if (!results.empty() && std::ranges::none_of(results, is_left)) {
    return FailedPrecondition("no model is left of the race: {}: {}", results[0].name,
                              Message(results[0].dropped));
  }
  return results;
}

StatusOr<RaceChoice> ChooseRacers(std::span<const RaceResult> results, bool larger_is_better,
                                  const LabelledRows& rows) {
  std::vector<RaceMember> order;  // the best first
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].best_epochs > 0) order.push_back({static_cast<int>(i), results[i].best_epochs});
  }
  if (order.empty()) {
    return InvalidArgument(
        "no model has a value of its metric on the {} rows held back: they may have one class "
        "only, hold back others or more of them",
        rows.labels.size());
  }
  std::stable_sort(order.begin(), order.end(), [&](const RaceMember& a, const RaceMember& b) {
    return IsBetter(results[a.racer].value(), results[b.racer].value(), larger_is_better);
  });
  const auto predictions = [&](const RaceMember& member) -> const std::vector<float>& {
    return results[member.racer].epochs[member.epochs - 1].predictions;
  };
  RaceChoice choice{.best = order[0]};
  for (const RaceMember& simpler : order) {
    if (simpler.racer >= choice.best.racer) continue;
    FL_ASSIGN_OR_RETURN(const ModelComparison better,
                        CompareModels(rows, predictions(order[0]), predictions(simpler)));
    if (!(better.gain > better.values.standard_error)) choice.best = simpler;
  }
  choice.members = {choice.best};
  const auto try_pair = [&](const RaceMember& a, const RaceMember& b) -> Status {
    const std::vector<float> mean = MeanPrediction(rows, predictions(a), predictions(b));
    FL_ASSIGN_OR_RETURN(const ModelComparison pair,
                        CompareModels(rows, mean, predictions(choice.best)));
    if (choice.mean && !(pair.gain > choice.mean->gain)) return absl::OkStatus();
    choice.pair = {a, b};
    choice.mean = pair;
    return absl::OkStatus();
  };
  for (const RaceMember& other : order) {
    if (other.racer == choice.best.racer) continue;
    for (const RaceMember& first : SinceBest(results, choice.best)) {
      for (const RaceMember& second : SinceBest(results, other)) {
        FL_RETURN_IF_ERROR(try_pair(first, second));
      }
    }
  }
  if (choice.mean && choice.mean->gain > choice.mean->values.standard_error) {
    choice.members = choice.pair;
  }
  return choice;
}

}  // namespace flotilla
