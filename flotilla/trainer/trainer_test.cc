#include "flotilla/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/graph/layers.h"
#include "flotilla/metric/delong.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/gradient_clip.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/trainer/click_rows_testing.h"

namespace flotilla {
namespace {

std::unique_ptr<InMemoryDataset> MakeDataset(int64_t rows, int64_t batch_size, uint64_t ids = 30) {
  Batch batch{.fields = std::vector<Field>(2 + kClickSlots)};
  for (int64_t r = 0; r < rows; ++r) AppendClickRow(r, ids, &batch);
  auto dataset =
      InMemoryDataset::FromRows(ClickInputs(), std::move(batch),
                                {.batch_size = batch_size, .shuffle_rows = kWholeEpoch, .seed = 1});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

struct ModelOptions {
  bool dropout = false;
  bool batch_norm = false;
  bool mean_loss = false;
  bool two_means = false;  // each of half the loss
  OptimizerSpec optimizer = Adam(1e-2);
};

Model SmallModel(const ModelOptions& options = {}) {
  Graph g;
  std::vector<Var> parts = {g.Dense("dense", 2)};
  for (int s = 0; s < kClickSlots; ++s) {
    parts.push_back(Embedding(g.Ids(fmt::format("C{}", s)),
                              {.table = "t", .dim = 4, .init = Uniform(-0.1, 0.1)}));
  }
  Var x = Fc(Concat(parts), 16, Relu);
  if (options.dropout) x = Dropout(x, 0.2);
  if (options.batch_norm) x = BatchNorm(x);
  const Var predict = Fc(x, 2, Softmax);
  const Var label = g.Label("label");
  const Var losses = CrossEntropy(predict, label);
  const Var loss = options.two_means
                       ? ReduceMean(Scale(losses, 0.5)) + ReduceMean(Scale(losses, 0.5))
                   : options.mean_loss ? ReduceMean(losses)
                                       : ReduceSum(losses);
  return {.graph = std::move(g),
          .loss = loss,
          .optimizer = options.optimizer,
          .metrics = {Auc(predict, label), LogLossMetric(predict, label)},
          .predict = predict};
}

// A model with its parameters and a trainer, as a program would hold them.
struct Session {
  Session(ModelOptions model_options, bool joined, TrainerOptions options)
      : model(SmallModel(model_options)) {
    communicator = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = joined});
    auto made = Trainer::Make(&model, communicator.get(), &clock, std::move(options));
    EXPECT_TRUE(made.ok()) << made.status();
    trainer = *std::move(made);
  }

  // Every parameter, one after the other.
  std::vector<float> Parameters() {
    std::vector<float> all;
    for (const ParameterSpec& spec : model.graph.def().parameters) {
      const Tensor tensor = *communicator->ReadParameter(spec.name);
      all.insert(all.end(), tensor.data.begin(), tensor.data.end());
    }
    const Tensor table = *communicator->ReadParameter("t");
    all.insert(all.end(), table.data.begin(), table.data.end());
    return all;
  }

  Model model;
  SteadyClock clock;
  std::unique_ptr<LocalCommunicator> communicator;
  std::unique_ptr<Trainer> trainer;
};

Report Train(Session& session, Dataset& dataset, int epochs) {
  Report last;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    auto report = session.trainer->TrainEpoch(dataset, epoch);
    EXPECT_TRUE(report.ok()) << report.status();
    last = *report;
  }
  return last;
}

TEST(TrainerTest, DeterministicTrainingGivesTheSameBitsForAnyNumberOfWorkers) {
  for (const ModelOptions& options :
       {ModelOptions{}, ModelOptions{.dropout = true}, ModelOptions{.batch_norm = true}}) {
    std::vector<float> expected;
    Report expected_report, expected_test;
    for (int workers : {1, 2, 3}) {
      auto dataset = MakeDataset(1000, 120);
      Session session(options, true, {.workers = workers, .seed = 4, .chunk_rows = 32});
      const Report report = Train(session, *dataset, 2);
      const auto test = session.trainer->Evaluate(*dataset);
      ASSERT_TRUE(test.ok()) << test.status();
      EXPECT_EQ(test->rows, 1000);
      if (workers == 1) {
        expected = session.Parameters();
        expected_report = report;
        expected_test = *test;
        continue;
      }
      EXPECT_EQ(session.Parameters(), expected) << workers;
      EXPECT_EQ(report.loss, expected_report.loss);
      EXPECT_EQ(report.metrics, expected_report.metrics);
      EXPECT_EQ(test->metrics, expected_test.metrics);
      EXPECT_EQ(test->loss, expected_test.loss);
    }
  }
}

TEST(TrainerTest, WorkersThatHaveNothingToDoInARoundAreSeenToWait) {
  auto dataset = MakeDataset(200, 20);
  // One chunk a batch: the second worker never gets one.
  Session session({}, true, {.workers = 2, .chunk_rows = 32});
  const StageTimes times = Train(session, *dataset, 1).times;
  EXPECT_GT(times.wait, 0);
  Session alone({}, false, {.workers = 1});
  EXPECT_EQ(Train(alone, *dataset, 1).times.wait, 0);
}

TEST(TrainerTest, AnotherSeedGivesOtherBits) {
  auto dataset = MakeDataset(500, 100);
  Session a({.dropout = true}, true, {.seed = 1});
  Session b({.dropout = true}, true, {.seed = 2});
  Train(a, *dataset, 1);
  Train(b, *dataset, 1);
  EXPECT_NE(a.Parameters(), b.Parameters());
}

TEST(TrainerTest, ChunksOfABatchGiveNearlyTheParametersOfTheWholeBatch) {
  auto dataset = MakeDataset(600, 100);
  Session whole({.optimizer = Sgd(0.01)}, true, {.chunk_rows = 1000});
  Session cut({.optimizer = Sgd(0.01)}, true, {.chunk_rows = 7});
  Train(whole, *dataset, 1);
  Train(cut, *dataset, 1);
  const std::vector<float> a = whole.Parameters();
  const std::vector<float> b = cut.Parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST(TrainerTest, OneFreeWorkerTrainsLikeTheDeterministicMode) {
  auto dataset = MakeDataset(600, 100);
  Session free({}, false, {.workers = 1});
  Session joined({}, true, {.workers = 1});
  Train(free, *dataset, 1);
  Train(joined, *dataset, 1);
  EXPECT_EQ(free.Parameters(), joined.Parameters());
}

TEST(TrainerTest, FreeWorkersLearnAndEveryRowIsCounted) {
  auto dataset = MakeDataset(4000, 50);
  Session session({}, false, {.workers = 3});
  const Report report = Train(session, *dataset, 5);
  EXPECT_EQ(report.rows, 4000);
  EXPECT_EQ(report.batches, 80);
  EXPECT_EQ(session.communicator->global_step(), 400);
  const auto evaluated = session.trainer->Evaluate(*dataset);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_GT(evaluated->Metric("auc"), 0.75);
  EXPECT_TRUE(std::isnan(evaluated->Metric("no such metric")));
}

TEST(TrainerTest, FitReturnsTheLossOfEveryEpoch) {
  auto dataset = MakeDataset(1000, 50);
  Session fitted({}, true, {.workers = 2}), stepped({}, true, {.workers = 2});
  const std::vector<double> losses = *fitted.trainer->Fit(*dataset, 3);
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses[2], losses[0]);
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(stepped.trainer->TrainEpoch(*dataset, epoch)->loss, losses[epoch]);
  }
}

TEST(TrainerTest, EvaluationChangesNothingAndMakesNoRows) {
  auto train = MakeDataset(500, 50);
  auto test = MakeDataset(700, 50, /*ids=*/90);  // ids that training never saw
  Session session({}, false, {.workers = 2});
  Train(session, *train, 1);
  const std::vector<float> before = session.Parameters();
  const int64_t rows = session.communicator->table(0).size();
  const auto first = session.trainer->Evaluate(*test);
  const auto second = session.trainer->Evaluate(*test);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(session.communicator->table(0).size(), rows);
  EXPECT_EQ(session.Parameters(), before);
  EXPECT_EQ(first->Metric("auc"), second->Metric("auc"));  // metrics start at zero
  EXPECT_NEAR(first->loss, first->Metric("logloss"), 1e-5);
}

TEST(TrainerTest, EvaluationReturnsThePredictionsInTheOrderOfTheRows) {
  Batch rows{.fields = std::vector<Field>(2 + kClickSlots)};
  for (int64_t r = 0; r < 1030; ++r) AppendClickRow(r, 30, &rows);
  auto dataset = *InMemoryDataset::FromRows(ClickInputs(), rows, {.batch_size = 100});
  std::vector<float> labels(rows.fields.back().values.begin(), rows.fields.back().values.end());
  std::vector<float> first;
  for (const bool joined : {false, true}) {
    for (const int workers : {1, 3}) {
      Session session({}, joined, {.workers = workers, .chunk_rows = 32});
      std::vector<float> predictions{1, 2, 3};  // replaced
      const auto report = session.trainer->Evaluate(*dataset, &predictions);
      ASSERT_TRUE(report.ok()) << report.status();
      ASSERT_EQ(predictions.size(), 2u * 1030);  // two columns
      std::vector<float> scores;
      for (size_t row = 0; row < 1030; ++row) scores.push_back(predictions[2 * row + 1]);
      EXPECT_NEAR(DelongTest(scores, scores, labels)->a, report->Metric("auc"), 1e-9);
      if (first.empty()) first = predictions;
      for (size_t i = 0; i < first.size(); ++i) EXPECT_NEAR(predictions[i], first[i], 1e-6);
      const auto again = session.trainer->Evaluate(*dataset);
      ASSERT_TRUE(again.ok()) << again.status();
    }
  }
}

TEST(TrainerTest, LossIsPerRowWhetherTheModelSumsOrAverages) {
  auto dataset = MakeDataset(330, 100);  // the last batch is short
  Session sum({}, false, {});
  Session mean({.mean_loss = true}, false, {});
  const auto a = sum.trainer->Evaluate(*dataset);
  const auto b = mean.trainer->Evaluate(*dataset);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NEAR(a->loss, b->loss, 1e-5);
  Session means({.two_means = true}, false, {});
  const auto c = means.trainer->Evaluate(*dataset);
  ASSERT_TRUE(c.ok());
  EXPECT_NEAR(c->loss, b->loss, 1e-5);
}

// Two inputs and a click, with a weight and a user for each row: every third row has weight 2.
Model WeightedModel(bool weighted, bool mean) {
  Graph g;
  const Var x = g.Dense("x", 2), weight = g.Dense("weight", 1), label = g.Label("label");
  const Var user = g.Ids("user");
  const Var predict = Fc(x, 2, Softmax);
  const Var losses = CrossEntropy(predict, label);
  const Var loss = !weighted ? ReduceSum(losses)
                   : mean    ? WeightedMean(losses, weight)
                             : WeightedSum(losses, weight);
  return {.graph = std::move(g),
          .loss = loss,
          .optimizer = Sgd(0.01),
          .metrics = {LogLossMetric(predict, label), Auc(predict, label),
                      Gauc(predict, label, user), MeanMetric(losses, "mean")},
          .weight = weighted ? weight : Var()};
}

// With `repeat`, a row of weight 2 is two rows of weight 1.
std::unique_ptr<InMemoryDataset> WeightedRows(bool repeat) {
  Batch batch{.fields = std::vector<Field>(4)};
  for (int64_t r = 0; r < 300; ++r) {
    const RngKey key = RngKey(9).With(static_cast<uint64_t>(r));
    const float weight = r % 3 == 0 ? 2 : 1;
    for (int copy = 0; copy < (repeat ? weight : 1); ++copy) {
      for (int d = 0; d < 2; ++d) batch.fields[0].values.push_back(key.Uniform(d) - 0.5f);
      batch.fields[1].values.push_back(repeat ? 1 : weight);
      batch.fields[2].values.push_back(key.Uniform(0) + key.Uniform(2) > 1 ? 1 : 0);
      batch.fields[3].ids.ids.push_back((uint64_t{1} << 60) + key.Below(3, 7));
      ++batch.rows;
    }
  }
  const Model model = WeightedModel(false, false);
  auto dataset =
      InMemoryDataset::FromRows(model.graph.def().inputs, batch, {.batch_size = repeat ? 80 : 60});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

// 60 rows with weights are the 80 rows in which those of weight 2 are repeated.
TEST(TrainerTest, ARowOfWeightTwoCountsAsTwoRowsInTheLossAndInEveryMetric) {
  SteadyClock clock;
  const auto run = [&](const Model& model, Dataset& dataset, bool joined, Progress* progress) {
    auto communicator = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = joined});
    TrainerOptions options{.workers = joined ? 2 : 1, .chunk_rows = 16, .progress_batches = 5};
    options.on_progress = [&](const Progress& now) { *progress = now; };
    auto trainer = Trainer::Make(&model, communicator.get(), &clock, std::move(options));
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    EXPECT_TRUE((*trainer)->TrainEpoch(dataset, 0).ok());
    return *(*trainer)->Evaluate(dataset);
  };
  const Model plain = WeightedModel(false, false), sum = WeightedModel(true, false);
  const Model mean = WeightedModel(true, true);
  for (const bool joined : {false, true}) {
    Progress progress, weighted_progress, mean_progress;
    const Report expected = run(plain, *WeightedRows(true), joined, &progress);
    const Report weighted = run(sum, *WeightedRows(false), joined, &weighted_progress);
    const Report averaged = run(mean, *WeightedRows(false), joined, &mean_progress);
    EXPECT_EQ(weighted.rows, 300);
    EXPECT_EQ(weighted.weight, 400);
    EXPECT_EQ(expected.weight, 0);
    EXPECT_NEAR(weighted.loss, expected.loss, 1e-5);
    EXPECT_NEAR(weighted_progress.loss, progress.loss, 1e-5);
    EXPECT_EQ(MetricValue(weighted.metric_details, "gauc_groups"), 7);
    ASSERT_EQ(weighted.metrics.size(), 4u);
    for (const auto& [name, value] : expected.metrics) {
      EXPECT_NEAR(weighted.Metric(name), value, 1e-5) << name;
    }
    // Reported per unit of weight, too; the smaller steps of a mean make it a little worse.
    EXPECT_NEAR(averaged.loss, averaged.Metric("logloss"), 1e-5);
    EXPECT_NEAR(averaged.loss, averaged.Metric("mean"), 1e-5);
  }
}

TEST(TrainerTest, AResumedEpochCountsTheWeightsOfItsFirstPart) {
  SteadyClock clock;
  const Model model = WeightedModel(true, false);
  auto communicator = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = true});
  auto trainer = *Trainer::Make(&model, communicator.get(), &clock, {});
  auto dataset = WeightedRows(false);
  Report before{.rows = 30, .trained = 30, .batches = 1};
  before.weight = 100;
  before.loss = 5;
  const auto position = [&] {
    EXPECT_TRUE(dataset->StartEpoch(0).ok());
    return dataset->position();
  }();
  const auto rest = trainer->ResumeEpoch(*dataset, position, before);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->weight, 500);
  EXPECT_NEAR(rest->loss, (500 + 400 * rest->Metric("logloss")) / 500, 1e-4);
}

TEST(TrainerTest, AWeightThatIsNotOneNumberPerRowIsAnError) {
  SteadyClock clock;
  Model model = WeightedModel(true, false);
  auto communicator = *LocalCommunicator::Make(SpecOf(model, 3), {});
  const GraphDef& graph = model.graph.def();
  model.weight = Var(model.loss.graph(), graph.FindVar("x"));
  EXPECT_THAT(std::string(Message(Trainer::Make(&model, communicator.get(), &clock, {}).status())),
              ::testing::HasSubstr("sample weight x has shape (batch, 2)"));
}

TEST(TrainerTest, ClippingBoundsWhatIsPushed) {
  auto dataset = MakeDataset(100, 100);
  OptimizerSpec sgd = Sgd(1);
  sgd.clip = ClipByGlobalNorm(1e-3);
  Session session({.optimizer = sgd}, true, {});
  auto fresh = session.communicator->ReadParameter("fc_0.w_0");
  Train(session, *dataset, 1);
  auto after = session.communicator->ReadParameter("fc_0.w_0");
  double moved = 0;
  for (size_t i = 0; i < after->data.size(); ++i) {
    moved += std::pow(after->data[i] - fresh->data[i], 2);
  }
  EXPECT_LE(std::sqrt(moved), 1.001e-3);
  EXPECT_GT(moved, 0);
}

TEST(TrainerTest, ProgressIsToldEveryFewBatches) {
  auto dataset = MakeDataset(1000, 100);
  std::vector<Progress> told;
  TrainerOptions options{.workers = 2};
  options.on_progress = [&](const Progress& progress) { told.push_back(progress); };
  options.progress_batches = 4;
  Session session({}, false, std::move(options));
  Train(session, *dataset, 1);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].batches, 4);
  EXPECT_EQ(told[1].rows, 800);
  Progress progress;
  session.trainer->AddMetrics(&progress);
  ASSERT_EQ(progress.metrics.size(), 2u);
  EXPECT_EQ(progress.metrics[0].first, "auc");
  EXPECT_EQ(progress.metrics[1].first, "logloss");
  ASSERT_EQ(progress.window_metrics.size(), 1u) << "logloss keeps no window";
  EXPECT_EQ(progress.window_metrics[0].first, "auc");
}

TEST(TrainerTest, FetchedValuesAreThoseOfTheBatch) {
  auto dataset = MakeDataset(1000, 100);
  for (const bool joined : {false, true}) {
    const Model names = SmallModel();
    std::vector<int64_t> batches;
    TrainerOptions options{.workers = 2};
    options.fetches = {names.loss.index(), names.metrics[0].vars[0]};
    options.fetch_batches = 5;
    options.on_fetch = [&](int64_t batch, std::span<const FetchedValue> values) {
      batches.push_back(batch);
      ASSERT_EQ(values.size(), 2u);
      EXPECT_EQ(values[0].values.size(), 1u);
      EXPECT_EQ(values[1].values.size(), 200u);
      EXPECT_NEAR(values[1].values[0] + values[1].values[1], 1, 1e-5);
    };
    Session session({}, joined, std::move(options));
    Train(session, *dataset, 1);
    EXPECT_EQ(batches, (std::vector<int64_t>{5, 10}));
  }
}

// Rows that stop coming after some batches: Next then fails with `error`, after `on_end`.
class BrokenOffDataset : public Dataset {
 public:
  BrokenOffDataset(std::unique_ptr<Dataset> rows, int64_t batches, Status error,
                   std::function<void()> on_end)
      : rows_(std::move(rows)), left_(batches), error_(std::move(error)), on_end_(on_end) {}
  std::span<const InputSpec> inputs() const override { return rows_->inputs(); }
  Status StartEpoch(int64_t epoch) override { return rows_->StartEpoch(epoch); }
  StatusOr<bool> Next(int worker, Batch* batch) override {
    if (left_.fetch_sub(1) > 0) return rows_->Next(worker, batch);
    on_end_();
    return error_;
  }
  DatasetCounts counts() const override { return rows_->counts(); }
  DatasetPosition position() const override { return rows_->position(); }
  Status Resume(const DatasetPosition& position) override { return rows_->Resume(position); }

 private:
  const std::unique_ptr<Dataset> rows_;
  std::atomic<int64_t> left_;
  const Status error_;
  const std::function<void()> on_end_;
};

TEST(TrainerTest, AReadThatAStopCancelsEndsTheEpochLikeAStop) {
  // The first batch is read before the epoch begins.
  for (const auto& [joined, batches] :
       {std::pair(true, 7), std::pair(false, 7), std::pair(true, 0), std::pair(false, 0)}) {
    std::atomic<bool> stop = false;
    TrainerOptions options{.workers = 2};
    options.stop = [&] { return stop.load(); };
    Session session({}, joined, options);
    BrokenOffDataset dataset(MakeDataset(1000, 50), batches, absl::CancelledError("signal 15"),
                             [&] { stop = true; });
    const auto report = session.trainer->TrainEpoch(dataset, 0);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->stopped);
    EXPECT_EQ(report->batches, batches);
    EXPECT_EQ(dataset.position().ordinal, batches);
    // An interrupted test has no result.
    EXPECT_TRUE(absl::IsCancelled(session.trainer->Evaluate(dataset).status()));
  }
}

TEST(TrainerTest, AReadThatFailsBecauseTheJobHasEndedIsTheErrorOfTheEpoch) {
  const Status gone = absl::UnavailableError("server 0 is gone");
  Session session({}, false, {.workers = 2, .stop = [] { return true; }});
  BrokenOffDataset dataset(MakeDataset(1000, 50), 0, gone, [] {});
  EXPECT_EQ(session.trainer->TrainEpoch(dataset, 0).status(), gone);
}

TEST(TrainerTest, AStoppedEpochGoesOnWithTheSameBits) {
  auto whole = MakeDataset(1000, 50);
  Session straight({}, true, {.workers = 2});
  Train(straight, *whole, 2);

  std::atomic<bool> stop = false;
  TrainerOptions options{.workers = 2};
  options.stop = [&] { return stop.load(); };
  options.progress_batches = 1;
  options.on_progress = [&](const Progress& progress) { stop = progress.batches == 7; };
  Session session({}, true, std::move(options));
  const Report first = *session.trainer->TrainEpoch(*whole, 0);
  EXPECT_TRUE(first.stopped);
  EXPECT_EQ(first.batches, 7);
  const DatasetPosition position = whole->position();
  stop = false;

  auto again = MakeDataset(1000, 50);
  Trainer& trainer = *session.trainer;
  const Report rest = *trainer.ResumeEpoch(*again, position);
  EXPECT_TRUE(rest.stopped);  // at its own seventh batch
  EXPECT_EQ(rest.batches, 7);
  stop = false;
  const Report last = *trainer.ResumeEpoch(*again, again->position());
  EXPECT_FALSE(last.stopped);
  EXPECT_EQ(first.rows + rest.rows + last.rows, 1000);
  for (int part = 0; part < 3; ++part) {
    stop = false;
    const auto report =
        part == 0 ? trainer.TrainEpoch(*again, 1) : trainer.ResumeEpoch(*again, again->position());
    ASSERT_TRUE(report.ok()) << report.status();
  }
  EXPECT_EQ(session.Parameters(), straight.Parameters());
}

TEST(TrainerTest, APauseComesWhileNoWorkerIsInsideABatch) {
  auto dataset = MakeDataset(2000, 20);
  for (const bool joined : {false, true}) {
    LocalCommunicator* communicator = nullptr;
    std::vector<int64_t> steps, rows;
    TrainerOptions options{.workers = 3};
    options.want_pause = [&] { return communicator->global_step() % 10 == 0; };
    options.at_pause = [&] {
      steps.push_back(communicator->global_step());
      rows.push_back(dataset->position().rows);
      return absl::OkStatus();
    };
    Session session({}, joined, std::move(options));
    communicator = session.communicator.get();
    Train(session, *dataset, 1);
    ASSERT_GE(steps.size(), 1u);
    // Every batch that was read has been pushed.
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(rows[i], steps[i] * 20);
  }
}

TEST(TrainerTest, TheFirstErrorOfAWorkerEndsTheEpoch) {
  Model model = SmallModel({.optimizer = Sgd(1e30)});  // diverges at once
  const SteadyClock clock;
  for (bool joined : {false, true}) {
    auto communicator = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = joined});
    auto trainer = *Trainer::Make(&model, communicator.get(), &clock, {.workers = 2});
    auto dataset = MakeDataset(1000, 10);
    const auto report = trainer->TrainEpoch(*dataset, 0);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(Message(report.status()).find("loss"), std::string_view::npos) << report.status();
  }
}

TEST(TrainerTest, BadModelsAndOptionsAreErrors) {
  Model model = SmallModel();
  const SteadyClock clock;
  auto communicator = *LocalCommunicator::Make(SpecOf(model, 3), {});
  EXPECT_FALSE(Trainer::Make(&model, communicator.get(), &clock, {.workers = 0}).ok());
  Model other = SmallModel();
  model.loss = other.loss;
  EXPECT_FALSE(Trainer::Make(&model, communicator.get(), &clock, {}).ok());
  other.metrics[0].kind = "no such kind";
  const auto made = Trainer::Make(&other, communicator.get(), &clock, {});
  EXPECT_NE(Message(made.status()).find("metric auc"), std::string_view::npos) << made.status();
}

// Trains with a local communicator and records the calls.
class NotingCommunicator : public Communicator {
 public:
  explicit NotingCommunicator(LocalCommunicator* local)
      : Communicator(local->spec()), local_(*local) {}

  Schedule schedule() const override { return local_.schedule(); }
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override {
    return local_.StartPull(worker, missing, rows);
  }
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override {
    return local_.StartPush(worker, gradients, batches);
  }
  std::span<const float> dense() const override { return local_.dense(); }
  int64_t global_step() const override { return local_.global_step(); }
  double learning_rate() const override { return local_.learning_rate(); }
  Status AskPause(uint64_t taken) override { return local_.AskPause(taken); }
  uint64_t pauses_asked() const override { return local_.pauses_asked(); }
  StatusOr<Tensor> ReadParameter(const std::string& name) override {
    return local_.ReadParameter(name);
  }
  Status WriteParameter(const std::string& name, std::span<const float> values) override {
    return local_.WriteParameter(name, values);
  }
  Status WriteRows(const std::string& table, const SparseRows& rows) override {
    return local_.WriteRows(table, rows);
  }
  StatusOr<std::unique_ptr<PendingSave>> BeginSave(const SaveContents& contents) override {
    return local_.BeginSave(contents);
  }
  StatusOr<LoadedModel> Load(const std::string& dir, const LoadOptions& options) override {
    return local_.Load(dir, options);
  }

  std::vector<std::string> calls;

 private:
  Status DoBeginEpoch(const EpochStart& start) override {
    calls.push_back(fmt::format("begin {} {}", start.has_batch, start.batches));
    return local_.BeginEpoch(start);
  }
  Status DoFlush() override {
    calls.push_back("flush");
    return local_.Flush();
  }

  LocalCommunicator& local_;
};

TEST(TrainerTest, ACommunicatorIsToldWhetherAnEpochHasBatchesAndHowMany) {
  const Model model = SmallModel();
  const SteadyClock clock;
  auto local = *LocalCommunicator::Make(SpecOf(model, 3), {});
  NotingCommunicator communicator(local.get());
  auto trainer = *Trainer::Make(&model, &communicator, &clock, {});
  ASSERT_TRUE(trainer->TrainEpoch(*MakeDataset(50, 20), 0).ok());
  EXPECT_FALSE(communicator.in_epoch());
  const Batch none{.fields = std::vector<Field>(ClickInputs().size())};
  auto nothing = *InMemoryDataset::FromRows(ClickInputs(), none, {.allow_empty = true});
  ASSERT_TRUE(trainer->TrainEpoch(*nothing, 1).ok());
  EXPECT_EQ(communicator.calls,
            (std::vector<std::string>{"begin true 3", "flush", "begin false 0", "flush"}));
}

}  // namespace
}  // namespace flotilla
