// A run inside a program that has its own parameters, listeners and way to stop it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <sstream>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/optimizers.h"
#include "flotilla/run/row_task.h"
#include "flotilla/run/run.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

Model ClickModel() {
  Model model;
  const Var label = model.graph.Label("label");
  const Var logit = Fc(Embedding(model.graph.Ids("item"), {.table = "items", .dim = 4}), 1);
  model.loss = ReduceMean(SigmoidCrossEntropyWithLogits(logit, label));
  model.optimizer = Adagrad(0.1);
  model.metrics = {Auc(Sigmoid(logit), label)};
  return model;
}

std::unique_ptr<InMemoryDataset> Rows(uint64_t seed) {
  Batch batch{.rows = 400, .fields = std::vector<Field>(2)};
  const RngKey key(seed);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const uint64_t item = key.Below(2 * row, 20);
    batch.fields[0].values.push_back(key.Uniform(2 * row + 1) < item / 20.0 ? 1 : 0);
    batch.fields[1].ids.ids.push_back(item);
  }
  auto rows = InMemoryDataset::FromRows(
      {{.name = "label", .kind = InputKind::kLabel}, {.name = "item", .kind = InputKind::kIds}},
      batch, {});
  EXPECT_TRUE(rows.ok()) << rows.status();
  return *std::move(rows);
}

class RunHostTest : public ::testing::Test {
 protected:
  RunHostTest() {
    rows_.train = Rows(1);
    rows_.test = Rows(2);
    options_.batch_size = 40;
    options_.deterministic = true;
    job_.client = nullptr;
    auto parameters =
        LocalCommunicator::Make(SpecOf(ClickModel(), options_.seed), {.joined = true});
    job_.local = parameters->get();
    job_.communicator = *std::move(parameters);
    job_.group = MakeSoloGroup();
    host_.stop = &stop_;
    host_.job = &job_;
  }

  StatusOr<RunResult> Run(int64_t epochs) {
    options_.epochs = epochs;
    std::ostringstream out, err;
    Console console(err, &clock_);
    Terminal terminal{.out = out, .console = console, .log = console.log(), .clock = clock_};
    RowTask task(
        options_,
        [](Terminal&, const Interrupt*) -> StatusOr<RowModel> {
          return RowModel{.model = ClickModel()};
        },
        ViewsOf(&rows_));
    return RunTraining(options_, task, terminal, host_);
  }

  Tensor Table() { return *job_.communicator->ReadParameter("items"); }

  const SteadyClock clock_;
  LoadedRows rows_;
  TrainOptions options_;
  StopRequest stop_;
  TrainerJob job_;
  RunHost host_;
};

TEST_F(RunHostTest, ASecondRunContinuesTheParametersOfTheHost) {
  ASSERT_TRUE(Run(1).ok());
  host_.first_epoch = 1;
  const auto second = Run(3);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->steps, 30);
  EXPECT_EQ(second->last_epoch, 2);
  const std::vector<float> in_two = Table().data;

  auto other = LocalCommunicator::Make(SpecOf(ClickModel(), options_.seed), {.joined = true});
  job_.local = other->get();
  job_.communicator = *std::move(other);
  host_.first_epoch = 0;
  ASSERT_TRUE(Run(3).ok());
  EXPECT_EQ(Table().data, in_two) << "the same bits as three epochs in one run";
}

TEST_F(RunHostTest, ListenersHearOfBatchesAndEpochsAndEndTheRun) {
  std::vector<int64_t> batches;
  std::vector<int64_t> epochs;
  host_.on_progress = [&](const Progress& progress) {
    batches.push_back(progress.batches);
    EXPECT_EQ(progress.epoch_rows, 400);
  };
  host_.on_epoch = [&](int64_t epoch, const Report& train, const Report* test) {
    epochs.push_back(epoch);
    EXPECT_EQ(train.rows, 400);
    EXPECT_GT(test->Metric("auc"), 0.5);
    return epoch == 1;
  };
  const auto result = Run(5);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(epochs, ElementsAre(0, 1));
  EXPECT_EQ(batches.size(), 20);
  EXPECT_FALSE(result->stopped);
  EXPECT_EQ(result->last_epoch, 1);
}

TEST_F(RunHostTest, AStopIsSavedAndResumedToTheSameBits) {
  const TempDir dir;
  options_.keep.out = dir.path() + "/model";
  host_.on_progress = [&](const Progress& progress) {
    if (progress.batches == 5) stop_.Make();
  };
  const auto stopped = Run(2);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_TRUE(stopped->stopped);
  EXPECT_EQ(stopped->trained, 200);

  StopRequest again;
  host_ = {.stop = &again};
  options_.keep.resume = true;
  const auto resumed = Run(2);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->steps, 20);
  options_.keep = {};
  const auto straight = Run(2);
  ASSERT_TRUE(straight.ok()) << straight.status();
  EXPECT_EQ(resumed->train.loss, straight->train.loss);
  EXPECT_EQ(resumed->test->Metric("auc"), straight->test->Metric("auc"));
}

TEST_F(RunHostTest, OptionsOutOfRangeOrOfModelsWithoutADirectoryAreErrors) {
  const TempDir dir;
  const auto error = [&](const auto& change) {
    options_.keep = {.out = dir.path() + "/model"};
    options_.early_stop = options_.plateau = 0;
    options_.max_bad_batches = kMaxBadBatches;
    change();
    return std::string(Message(Run(1).status()));
  };
  KeepOptions& keep = options_.keep;
  EXPECT_EQ(error([&] { keep.keep = -1; }), "--keep -1: must be at least 0");
  EXPECT_EQ(error([&] { keep.every_steps = -2; }), "--save_steps -2: must be at least 0");
  EXPECT_THAT(error([&] { keep.every_minutes = -1; }), StartsWith("--save_minutes -1: must be a"));
  EXPECT_THAT(error([&] { keep.every_minutes = NAN; }), StartsWith("--save_minutes nan: must be"));
  EXPECT_EQ(error([&] { options_.early_stop = -1; }), "--early_stop -1: must be at least 0");
  EXPECT_EQ(error([&] { options_.plateau = -1; }), "--plateau -1: must be at least 0");
  EXPECT_EQ(error([&] { options_.max_bad_batches = -1; }),
            "--max_bad_batches -1: must be at least 0");
  EXPECT_EQ(error([&] { keep = {.resume = true}; }), "--resume: saved models need --out DIR");
  EXPECT_EQ(error([&] { keep = {.overwrite = true}; }), "--overwrite: saved models need --out DIR");
  EXPECT_EQ(error([&] { keep = {.every_steps = 1}; }), "--save_steps: saved models need --out DIR");
  EXPECT_EQ(error([&] { keep = {.every_minutes = 1}; }),
            "--save_minutes: saved models need --out DIR");
  rows_.test = nullptr;
  EXPECT_EQ(error([&] { options_.early_stop = 1; }),
            "--early_stop needs test rows: give --test PATH");
  EXPECT_EQ(error([&] {}), "");
}

}  // namespace
}  // namespace flotilla
