#include "flotilla/run/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "flotilla/communicator/local_communicator.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/adagrad.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/trainer/click_rows_testing.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr int64_t kRaceRows = 3000;

std::unique_ptr<InMemoryDataset> MakeRaceRows() {
  Batch batch{.fields = std::vector<Field>(2 + kClickSlots)};
  for (int64_t r = 0; r < kRaceRows; ++r) AppendClickRow(r, 30, &batch);
  return *InMemoryDataset::FromRows(ClickInputs(), batch, {});
}

// A linear model of some of the slots.
Model LinearOf(int slots, double learning_rate) {
  Graph g;
  const Var dense = g.Dense("dense", 2);
  std::vector<Var> parts;
  for (int s = 0; s < kClickSlots; ++s) {
    const Var ids = g.Ids(fmt::format("C{}", s));
    if (s >= slots) continue;
    parts.push_back(Embedding(ids, {.table = "linear", .dim = 1, .init = Constant(0)}));
  }
  parts.push_back(Fc(dense, 1));
  const Var logit = ReduceSum(Concat(parts), {1}, true);
  const Var predict = Sigmoid(logit);
  const Var label = g.Label("label");
  const Var loss = ReduceSum(SigmoidCrossEntropyWithLogits(logit, Cast(label, DType::kFloat)));
  return {.graph = std::move(g),
          .loss = loss,
          .optimizer = Adagrad(learning_rate),
          .metrics = {Auc(predict, label)},
          .predict = predict};
}

std::vector<Racer> MakeRacers() {
  std::vector<Racer> racers;
  racers.push_back({"one", LinearOf(1, 0.1), 50, 2, 3});
  racers.push_back({"all", LinearOf(3, 0.1), 100, 1, 8});
  return racers;
}

TEST(HoldBackTest, PartsAreDisjointAndOfTheRightSize) {
  for (const bool last : {false, true}) {
    const RaceRows parts = HoldBack(1000, 0.1, last, 2000);
    EXPECT_EQ(parts.test.size(), 100u);
    EXPECT_EQ(parts.train.size(), 900u);
    std::set<uint32_t> all(parts.train.begin(), parts.train.end());
    all.insert(parts.test.begin(), parts.test.end());
    EXPECT_EQ(all.size(), 1000u);
    EXPECT_EQ(*all.rbegin(), 999u);
    EXPECT_TRUE(std::is_sorted(parts.train.begin(), parts.train.end()));
    EXPECT_EQ(parts.test.front() == 900, last);
  }
  EXPECT_EQ(HoldBack(1000, 0.1, false, 2000).test, HoldBack(1000, 0.1, false, 2000).test);
}

TEST(HoldBackTest, ASampleOfManyRows) {
  const RaceRows spread = HoldBack(100000, 0.1, false, 1000);
  EXPECT_EQ(spread.train.size(), 1000u);
  EXPECT_EQ(spread.test.size(), 100u);
  EXPECT_LT(spread.train.front(), 1000u);
  EXPECT_GT(spread.train.back(), 99000u);
  const RaceRows last = HoldBack(100000, 0.1, true, 1000);
  EXPECT_EQ(last.test.front(), 99900u);
  EXPECT_EQ(last.train.front(), 98900u);
  EXPECT_EQ(last.train.back(), 99899u);
  EXPECT_EQ(HoldBack(2, 0.1, true, 10).test, (std::vector<uint32_t>{1}));
}

TEST(RaceTest, EveryRacerHasTheResultThatItHasAlone) {
  const auto rows = MakeRaceRows();
  const RaceRows parts = HoldBack(kRaceRows, 0.2, false, kRaceRows);
  const std::vector<Racer> racers = MakeRacers();
  RaceOptions options{.threads = 2, .seed = 3, .deterministic = true};
  std::vector<std::string> told;
  options.on_epoch = [&](const Racer& racer, const RaceEpoch& epoch) {
    told.push_back(racer.name);
    EXPECT_GT(epoch.value, 0.5);
  };
  const SteadyClock clock;
  const auto results = RunRace(racers, *rows, parts, options, clock);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 2u);
  for (size_t i = 0; i < racers.size(); ++i) {
    const Racer& racer = racers[i];
    const RaceResult& result = (*results)[i];
    EXPECT_EQ(result.name, racer.name);
    EXPECT_EQ(std::count(told.begin(), told.end(), racer.name),
              static_cast<int64_t>(result.epochs.size()));
    // It left after its best epoch, but not before its least, or trained all of its epochs.
    EXPECT_TRUE(static_cast<int64_t>(result.epochs.size()) ==
                    std::max(result.best_epochs + 1, racer.min_epochs) ||
                static_cast<int64_t>(result.epochs.size()) == racer.max_epochs);
    // The same by hand.
    auto parameters = *LocalCommunicator::Make(SpecOf(racer.model, 3), {.joined = true});
    auto trainer = *Trainer::Make(&racer.model, parameters.get(), &clock, {.seed = 3});
    auto train = *rows->View(
        {.batch_size = racer.batch_size, .shuffle_rows = kWholeEpoch, .seed = 3}, parts.train);
    auto test = *rows->View({.batch_size = 77}, parts.test);
    for (int64_t epoch = 0; epoch < result.best_epochs; ++epoch) {
      ASSERT_TRUE(trainer->TrainEpoch(*train, epoch).ok());
      EXPECT_NEAR(trainer->Evaluate(*test)->Metric("auc"), result.epochs[epoch].value, 1e-6);
    }
    std::vector<float> predictions;
    ASSERT_TRUE(trainer->Evaluate(*test, &predictions).ok());
    const std::vector<float>& raced = result.epochs[result.best_epochs - 1].predictions;
    ASSERT_EQ(predictions.size(), raced.size());
    for (size_t row = 0; row < predictions.size(); ++row) {
      EXPECT_NEAR(predictions[row], raced[row], 1e-6);
    }
  }
  EXPECT_GT((*results)[1].value(), (*results)[0].value() + 0.05);
}

TEST(RaceTest, StoppingAndMistakesEndTheRace) {
  const auto rows = MakeRaceRows();
  const RaceRows parts = HoldBack(kRaceRows, 0.2, false, kRaceRows);
  std::vector<Racer> racers = MakeRacers();
  const SteadyClock clock;
  RaceOptions stopped;
  stopped.stop = [] { return true; };
  const auto cancelled = RunRace(racers, *rows, parts, stopped, clock);
  EXPECT_TRUE(absl::IsCancelled(cancelled.status())) << cancelled.status();
  racers[1].model.metrics.clear();
  const auto error = RunRace(racers, *rows, parts, {}, clock);
  EXPECT_EQ(Message(error.status()), "all: the model has no metric to watch");
}

// A model whose parameters are soon infinite.
Racer Diverging() {
  Racer racer{"steep", LinearOf(2, 1e38), 50, 2, 3};
  racer.model.optimizer = Sgd(1e38);
  return racer;
}

TEST(RaceTest, ARacerThatDivergesIsLeftOut) {
  const auto rows = MakeRaceRows();
  const RaceRows parts = HoldBack(kRaceRows, 0.2, false, kRaceRows);
  std::vector<Racer> racers = MakeRacers();
  racers.insert(racers.begin() + 1, Diverging());
  const SteadyClock clock;
  const auto results = RunRace(racers, *rows, parts, {.max_bad_batches = 2}, clock);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  EXPECT_EQ((*results)[1].name, "steep");
  EXPECT_EQ((*results)[1].best_epochs, 0);
  EXPECT_GT((*results)[0].value(), 0.5);
  EXPECT_GT((*results)[2].value(), 0.5);
}

TEST(RaceTest, ARaceInWhichAllDivergeIsAnError) {
  const auto rows = MakeRaceRows();
  const RaceRows parts = HoldBack(kRaceRows, 0.2, false, kRaceRows);
  std::vector<Racer> racers;
  racers.push_back(Diverging());
  racers.push_back(Diverging());
  const auto results = RunRace(racers, *rows, parts, {.max_bad_batches = 2}, SteadyClock());
  EXPECT_EQ(results.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(results.status())), HasSubstr("no model is left of the race"));
  EXPECT_THAT(std::string(Message(results.status())), HasSubstr("steep: "));
}

// Results with these predictions for 400 rows, whose values are their AUC.
struct Chosen {
  LabelledRows rows;
  std::vector<RaceResult> results;

  explicit Chosen(const std::vector<double>& noises) {
    const RngKey key = RngKey(1).With("choice");
    for (int row = 0; row < 400; ++row) rows.labels.push_back(key.Below(row, 2) == 0 ? 0 : 1);
    for (size_t i = 0; i < noises.size(); ++i) {
      RaceResult& result = results.emplace_back();
      result.name = fmt::format("m{}", i);
      std::vector<float> predictions;
      for (int row = 0; row < 400; ++row) {
        const double noise = 2 * key.With(i).Uniform(row) - 1;
        const double logit = 2 * rows.labels[row] - 1 + noises[i] * noise;
        predictions.push_back(static_cast<float>(1 / (1 + std::exp(-logit))));
      }
      const auto same = CompareModels(rows, predictions, predictions);
      result.epochs = {{.value = 0.1}, {.value = same->values.a, .predictions = predictions}};
      result.best_epochs = 2;
    }
  }
};

TEST(ChooseRacersTest, TheMeanOfTwoWithDifferentErrorsIsChosen) {
  const Chosen alike({5, 3, 3.6});
  const auto choice = ChooseRacers(alike.results, true, alike.rows);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->members, ElementsAre(RaceMember{1, 2}, RaceMember{2, 2}));
  EXPECT_GT(choice->mean->gain, choice->mean->values.standard_error);
  EXPECT_DOUBLE_EQ(choice->mean->values.b, alike.results[1].value());
}

TEST(ChooseRacersTest, TheBestPairNeedNotBeTheTwoBestNorTheirBestEpochs) {
  // The second model repeats the errors of the first, the third has its own.
  Chosen chosen({3, 100, 3.6});
  chosen.results[1] = chosen.results[0];
  chosen.results[1].epochs[1].value -= 1e-9;
  // An epoch later the third is worse alone and better in the mean.
  const Chosen later({3, 100, 3});
  const double best = chosen.results[2].value();
  chosen.results[2].epochs.push_back(later.results[2].epochs[1]);
  chosen.results[2].epochs[2].value = best - 1e-9;
  const auto choice = ChooseRacers(chosen.results, true, chosen.rows);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->pair, UnorderedElementsAre(RaceMember{0, 2}, RaceMember{2, 3}));
  EXPECT_EQ(choice->members, choice->pair);
}

TEST(ChooseRacersTest, ASimplerModelIsPreferredToOneThatIsNotBetter) {
  Chosen chosen({3, 3, 1});
  chosen.results.pop_back();
  chosen.results[1] = chosen.results[0];
  chosen.results[1].epochs[1].value += 1e-9;
  EXPECT_EQ(ChooseRacers(chosen.results, true, chosen.rows)->best, (RaceMember{0, 2}));
  const Chosen clear({30, 1});
  EXPECT_EQ(ChooseRacers(clear.results, true, clear.rows)->best, (RaceMember{1, 2}));
}

TEST(ChooseRacersTest, OtherwiseTheBestAlone) {
  Chosen apart({100, 3});
  const auto choice = ChooseRacers(apart.results, true, apart.rows);
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_THAT(choice->members, ElementsAre(RaceMember{1, 2}));
  EXPECT_LT(choice->mean->gain, choice->mean->values.standard_error);
  // Where smaller values are better the order turns around.
  EXPECT_EQ(ChooseRacers(apart.results, false, apart.rows)->best, (RaceMember{0, 2}));
  // A racer without a value takes no part.
  apart.results[1].best_epochs = 0;
  const auto only = ChooseRacers(apart.results, true, apart.rows);
  EXPECT_THAT(only->members, ElementsAre(RaceMember{0, 2}));
  EXPECT_FALSE(only->mean.has_value());
  apart.results[0].best_epochs = 0;
  EXPECT_THAT(std::string(Message(ChooseRacers(apart.results, true, apart.rows).status())),
              HasSubstr("no model has a value of its metric on the 400 rows held back"));
}

}  // namespace
}  // namespace flotilla
