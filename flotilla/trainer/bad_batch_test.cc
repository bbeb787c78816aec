#include "flotilla/trainer/bad_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "flotilla/communicator/local_communicator.h"
#include "flotilla/optim/adagrad.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/gradient_clip.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/trainer/bad_batch_testing.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ModelSpec TwoAndTwo() {
  ModelSpec spec;
  spec.parameters = {{.name = "w", .shape = {3, 2}}, {.name = "b", .shape = {5}}};
  spec.tables = {{.name = "first", .dim = 1}, {.name = "second", .dim = 2}};
  return spec;
}

Gradients GradientsOf(const ModelSpec& spec, const DenseLayout& layout) {
  Gradients gradients;
  gradients.dense.assign(static_cast<size_t>(layout.size()), 1e19f);
  for (const TableSpec& table : spec.tables) {
    gradients.sparse.push_back({.dim = table.dim, .ids = {7, 8, 9}});
    gradients.sparse.back().values.assign(3 * static_cast<size_t>(table.dim), -1e19f);
  }
  return gradients;
}

TEST(BadBatchTest, ABadGradientIsNamed) {
  const ModelSpec spec = TwoAndTwo();
  const DenseLayout layout(spec.parameters);
  for (const float bad : {kNan, kInf, -kInf, 2e19f}) {
    Gradients gradients = GradientsOf(spec, layout);
    EXPECT_TRUE(CheckDense(spec, layout, gradients).ok());
    EXPECT_TRUE(CheckSparse(spec, gradients).ok());
    gradients.dense[layout.offset(1) + 4] = bad;
    const Status dense = CheckDense(spec, layout, gradients);
    EXPECT_TRUE(IsBadBatch(dense));
    EXPECT_THAT(Message(dense), StartsWith("the gradient of parameter b, element 4, is "));
    gradients.sparse[1].row(2)[1] = bad;
    const Status sparse = CheckSparse(spec, gradients);
    EXPECT_TRUE(IsBadBatch(sparse));
    EXPECT_THAT(Message(sparse), StartsWith("the gradient of table second, row 9, is "));
  }
}

TEST(BadBatchTest, TheSquareOfAGoodGradientIsFinite) {
  const float largest = LargestGradient({});
  EXPECT_TRUE(std::isfinite(largest * largest));
  const float above = std::nextafter(std::nextafter(largest, kInf), kInf);
  EXPECT_FALSE(std::isfinite(above * above)) << "no good one is rejected";
}

TEST(BadBatchTest, AGradientThatIsClippedMayBeLarge) {
  ModelSpec spec = TwoAndTwo();
  spec.optimizer.clip = ClipByGlobalNorm(1);
  const DenseLayout layout(spec.parameters);
  Gradients gradients = GradientsOf(spec, layout);
  gradients.dense[0] = 1e38f;
  EXPECT_TRUE(CheckDense(spec, layout, gradients).ok());
  gradients.dense[0] = kInf;
  EXPECT_TRUE(IsBadBatch(CheckDense(spec, layout, gradients)));
}

TEST(BadBatchTest, TheLargestNumberIsNamedIfItIsUnusual) {
  const std::vector<InputSpec> inputs = {{.name = "x", .width = 2},
                                         {.name = "ids", .kind = InputKind::kIds}};
  Batch batch{.rows = 3, .fields = std::vector<Field>(2)};
  batch.fields[0].values = {1, 2, 3, 4, 5, 6};
  batch.fields[1].ids = {.ids = {4, 5, 6}, .offsets = {0, 0, 1, 3}, .weights = {1, 2, 3}};
  const Status cause = absl::OutOfRangeError("cause");
  const auto text = [&] { return DescribeBadBatch(batch, inputs, cause, nullptr); };
  EXPECT_TRUE(HasUsualNumbers(batch));
  EXPECT_EQ(text(), "cause");
  batch.fields[0].values[3] = -2e6f;
  EXPECT_FALSE(HasUsualNumbers(batch));
  EXPECT_EQ(text(), "cause; its largest number is -2e+06 in input x, row 1 of the batch");
  batch.fields[1].ids.weights[0] = kInf;
  EXPECT_EQ(text(), "cause; its largest number is inf in input ids, row 1 of the batch");
  batch.fields[1].ids.weights[0] = 1;
  batch.fields[1].ids.weights[2] = kInf;
  EXPECT_EQ(text(), "cause; its largest number is inf in input ids, row 2 of the batch");
  batch.fields[0].values[5] = kNan;
  EXPECT_EQ(text(), "cause; its largest number is nan in input x, row 2 of the batch");
  batch.fields[0].values = {1, 2, 3, 4, 5, 6};
  EXPECT_FALSE(HasUsualNumbers(batch)) << "a weight";
}

struct LocalOutcome {
  StatusOr<Report> report;
  PlantedValues parameters;
  int64_t step = 0;
};

LocalOutcome TrainLocally(Dataset& dataset, bool joined, TrainerOptions options,
                          OptimizerSpec optimizer = Adam(1e-2)) {
  static const SteadyClock clock;
  const Model model = PlantedModel(std::move(optimizer));
  auto local = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = joined});
  auto trainer = *Trainer::Make(&model, local.get(), &clock, std::move(options));
  LocalOutcome outcome{.report = trainer->TrainEpoch(dataset, 0)};
  outcome.parameters = PlantedParameters(*local);
  outcome.step = local->global_step();
  return outcome;
}

// Except for rows of the table: a bad batch may create rows, which have their initial values.
void ExpectSameDense(const PlantedValues& a, const PlantedValues& b) {
  for (const auto& [name, values] : a) {
    if (name == "t") continue;
    EXPECT_EQ(values, b.at(name)) << name;
  }
}

TEST(BadBatchTest, LocalTrainingIsThatOfTheOtherBatches) {
  const auto good = PlantedRows(0, 1, 20, 25);
  const auto planted =
      PlantedRows(0, 1, 20, 25, {{0, Plant::kLoss}, {0, Plant::kLinear}, {20, Plant::kLoss}});
  for (const auto& [joined, workers] :
       {std::pair(false, 1), std::pair(true, 1), std::pair(true, 3)}) {
    SCOPED_TRACE(fmt::format("{}, {} workers", joined ? "deterministic" : "free", workers));
    const TrainerOptions options{.workers = workers, .chunk_rows = 10, .max_bad_batches = 3};
    const LocalOutcome expected = TrainLocally(*good, joined, options);
    const LocalOutcome outcome = TrainLocally(*planted, joined, options);
    ASSERT_TRUE(outcome.report.ok()) << outcome.report.status();
    ExpectSameDense(outcome.parameters, expected.parameters);
    ExpectFinite(outcome.parameters);
    EXPECT_EQ(outcome.step, 20);
    EXPECT_EQ(outcome.report->rows, 500);
    EXPECT_EQ(outcome.report->batches, 20);
    EXPECT_EQ(outcome.report->bad_batches, 3);
    EXPECT_EQ(outcome.report->bad_batch_rows, 75);
    EXPECT_EQ(outcome.report->loss, expected.report->loss);
    EXPECT_EQ(outcome.report->Metric("auc"), expected.report->Metric("auc"));
  }
}

// With usual numbers parameters are updated as soon as their gradients are complete.
TEST(BadBatchTest, InPlaceNoBadGradientIsApplied) {
  const auto planted = PlantedRows(0, 1, 20, 25, {{3, Plant::kExplodes}, {9, Plant::kExplodes}});
  for (const int workers : {1, 3}) {
    const LocalOutcome outcome =
        TrainLocally(*planted, false, {.workers = workers, .max_bad_batches = 2});
    ASSERT_TRUE(outcome.report.ok()) << outcome.report.status();
    EXPECT_EQ(outcome.report->bad_batches, 2);
    EXPECT_EQ(outcome.report->rows, 500);
    EXPECT_EQ(outcome.parameters.at(kProbe), std::vector<float>{1}) << "good rows do not change it";
    ExpectFinite(outcome.parameters);
  }
}

TEST(BadBatchTest, LayersBelowTheFirstBadGradientAreNotTrained) {
  const auto good = PlantedRows(0, 1, 20, 25);
  const auto planted = PlantedRows(0, 1, 20, 25, {{3, Plant::kExplodes}});
  const TrainerOptions options{.workers = 1, .max_bad_batches = 1};
  PlantedValues expected = TrainLocally(*good, false, options).parameters;
  PlantedValues values = TrainLocally(*planted, false, options).parameters;
  // Of the layers only this one comes after the one with the bad gradient.
  const auto is_above = [](const auto& value) { return value.first.starts_with("linear_fc"); };
  std::erase_if(expected, is_above);
  std::erase_if(values, is_above);
  ExpectSameDense(values, expected);
}

TEST(BadBatchTest, UnusualNumbersThatAreNotBadAreTrainedTheSameWay) {
  auto rows = PlantedRows(0, 1, 20, 25);
  Batch all = rows->CopyRows();
  for (float& value : all.fields[2 + kClickSlots].values) value = -1e7f;  // exp of it is 0
  const auto unusual = *InMemoryDataset::FromRows(PlantedInputs(), all, {.batch_size = 25});
  for (float& value : all.fields[2 + kClickSlots].values) value = -1e3f;
  const auto usual = *InMemoryDataset::FromRows(PlantedInputs(), all, {.batch_size = 25});
  const LocalOutcome slow = TrainLocally(*unusual, false, {.workers = 1});
  const LocalOutcome in_place = TrainLocally(*usual, false, {.workers = 1});
  ASSERT_TRUE(slow.report.ok()) << slow.report.status();
  EXPECT_EQ(slow.parameters, in_place.parameters);
}

TEST(BadBatchTest, ClippedGradientsAreCheckedBeforeTheyAreClipped) {
  OptimizerSpec optimizer = Sgd(0.1);
  optimizer.clip = ClipByGlobalNorm(1);
  const auto planted = PlantedRows(0, 1, 20, 25, {{3, Plant::kLoss}});
  const LocalOutcome outcome =
      TrainLocally(*planted, false, {.workers = 1, .max_bad_batches = 1}, optimizer);
  ASSERT_TRUE(outcome.report.ok()) << outcome.report.status();
  EXPECT_EQ(outcome.report->bad_batches, 1);
  ExpectFinite(outcome.parameters);
}

// The gradient of the weight is the sum of the numbers of a batch.
LocalOutcome TrainOnNumbers(const std::vector<float>& numbers, TrainerOptions options) {
  static const SteadyClock clock;
  Graph g;
  const Var loss =
      ReduceSum(Fc(g.Dense("x", 1), 1, nullptr,
                   {.name = "fc", .weight = {.init = Constant(0)}, .bias = {}, .use_bias = false}));
  const Model model{.graph = std::move(g), .loss = loss, .optimizer = Adagrad(0.1), .metrics = {}};
  Batch rows{.rows = static_cast<int64_t>(numbers.size()), .fields = std::vector<Field>(1)};
  rows.fields[0].values.assign(numbers.begin(), numbers.end());
  const auto dataset =
      *InMemoryDataset::FromRows(model.graph.def().inputs, rows, {.batch_size = rows.rows / 2});
  auto local = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = true});
  auto trainer = *Trainer::Make(&model, local.get(), &clock, std::move(options));
  LocalOutcome outcome{.report = trainer->TrainEpoch(*dataset, 0)};
  const Tensor weight = *local->ReadParameter("fc.w_0");
  outcome.parameters["fc.w_0"].assign(weight.data.begin(), weight.data.end());
  outcome.step = local->global_step();
  return outcome;
}

TEST(BadBatchTest, ChunksWhoseSumIsTooLargeMakeABadBatch) {
  std::vector<float> numbers(40, 3e18f);  // each chunk of 5 has 1.5e19, each batch of 20 6e19
  std::fill(numbers.begin() + 20, numbers.end(), 1.0f);
  for (const int workers : {1, 3}) {
    const LocalOutcome outcome =
        TrainOnNumbers(numbers, {.workers = workers, .chunk_rows = 5, .max_bad_batches = 1});
    ASSERT_TRUE(outcome.report.ok()) << outcome.report.status();
    EXPECT_EQ(outcome.report->bad_batches, 1);
    EXPECT_EQ(outcome.step, 1);
    // Adagrad divides the gradient by itself: the first step is the learning rate.
    EXPECT_NEAR(outcome.parameters.at("fc.w_0")[0], -0.1, 1e-4);
    ASSERT_FALSE(outcome.report->bad_batch_texts.empty());
    EXPECT_THAT(outcome.report->bad_batch_texts[0],
                HasSubstr("the gradient of parameter fc.w_0, element 0, is 6e+19, and the largest "
                          "that optimizers can square is 1.8e19 in epoch 0, batch 0"));
  }
}

// In every other mode there are no chunks to look at.
TEST(BadBatchTest, ChunksAreNotJudgedOneByOne) {
  std::vector<float> numbers(40, 1.0f);
  numbers[0] = 3e19f;
  numbers[19] = -3e19f;
  const LocalOutcome outcome = TrainOnNumbers(numbers, {.workers = 1, .chunk_rows = 5});
  ASSERT_TRUE(outcome.report.ok()) << outcome.report.status();
  EXPECT_EQ(outcome.step, 2);
}

TEST(BadBatchTest, EachIsToldWithItsCauseAndTheNamesOfItsRows) {
  const auto planted = PlantedRows(0, 1, 20, 25, {{2, Plant::kLinear}, {4, Plant::kExplodes}});
  for (const bool joined : {false, true}) {
    std::vector<std::string> told;
    TrainerOptions options{.max_bad_batches = 2};
    options.on_bad_batch = [&](int64_t number, const std::string& text) {
      EXPECT_EQ(number, static_cast<int64_t>(told.size()) + 1);
      told.push_back(text);
    };
    const LocalOutcome outcome = TrainLocally(*planted, joined, options);
    ASSERT_TRUE(outcome.report.ok()) << outcome.report.status();
    ASSERT_EQ(told.size(), 2u);
    EXPECT_THAT(told[0], HasSubstr("the gradient of parameter linear_fc.w_0, element 0, is "));
    EXPECT_THAT(told[0], HasSubstr(" in epoch 0, batch 2"));
    EXPECT_THAT(told[0],
                HasSubstr("its largest number is 1e+24 in input linear, row 53 in memory"));
    EXPECT_THAT(told[1], HasSubstr("the gradient of parameter probe_fc.w_0"));
    EXPECT_THAT(told[1], HasSubstr(" in epoch 0, batch 5"));
    EXPECT_EQ(outcome.report->bad_batch_texts, told);
  }
}

TEST(BadBatchTest, OneMoreThanAllowedEndsTheEpochWithItsCause) {
  const std::multimap<int, Plant> bad = {{3, Plant::kLoss}, {6, Plant::kLinear}, {9, Plant::kLoss}};
  const auto planted = PlantedRows(0, 1, 20, 25, bad);
  for (const bool joined : {false, true}) {
    for (const int allowed : {0, 1, 2}) {
      const LocalOutcome outcome = TrainLocally(*planted, joined, {.max_bad_batches = allowed});
      const Status& status = outcome.report.status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(Message(status), HasSubstr(allowed == 1 ? "linear_fc.w_0" : "loss"));
      EXPECT_THAT(Message(status), HasSubstr(fmt::format("allows {} ", allowed)));
      EXPECT_EQ(outcome.step, 3 * (allowed + 1)) << "the good batches before it are trained";
      ExpectFinite(outcome.parameters);
    }
  }
}

TEST(BadBatchTest, AResumedEpochGoesOnCounting) {
  static const SteadyClock clock;
  const auto planted = PlantedRows(0, 1, 20, 25, {{3, Plant::kLoss}, {16, Plant::kLoss}});
  const Model model = PlantedModel(Adam(1e-2));
  auto local = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = true});
  bool stop = false;
  TrainerOptions options{.progress_batches = 10, .max_bad_batches = 2};
  options.on_progress = [&](const Progress&) { stop = true; };
  options.stop = [&] { return stop; };
  auto trainer = *Trainer::Make(&model, local.get(), &clock, options);
  const Report first = *trainer->TrainEpoch(*planted, 0);
  ASSERT_TRUE(first.stopped);
  EXPECT_EQ(first.bad_batches, 1);
  const DatasetPosition position = planted->position();
  options.stop = nullptr;
  trainer = *Trainer::Make(&model, local.get(), &clock, options);
  const auto rest = trainer->ResumeEpoch(*planted, position, first);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->bad_batches, 2);
  EXPECT_EQ(rest->bad_batch_rows, 50);
  options.max_bad_batches = 1;
  trainer = *Trainer::Make(&model, local.get(), &clock, options);
  EXPECT_FALSE(trainer->ResumeEpoch(*planted, position, first).ok());
}

}  // namespace
}  // namespace flotilla
