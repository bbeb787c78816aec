// Trainers of one job, each with its own data, in every mode: the whole path from dataset to
// servers, in one process.
#include <gtest/gtest.h>

#include <map>

#include "flotilla/base/mutex.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/momentum.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/testing/cluster_testing.h"
#include "flotilla/trainer/click_rows_testing.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

const SteadyClock kClock;

// Batch k of trainer t has the rows [(k * trainers + t) * batch_size, + batch_size): together the
// trainers' k-th batches are the k-th batch of one process with batches of trainers * batch_size.
std::unique_ptr<Dataset> DataOf(int trainer, int trainers, int64_t rows, int64_t batch_size) {
  Batch batch{.fields = std::vector<Field>(2 + kClickSlots)};
  for (int64_t r = 0; r < rows; ++r) {
    if (r / batch_size % trainers == trainer) AppendClickRow(r, 30, &batch);
  }
  return *InMemoryDataset::FromRows(ClickInputs(), batch,
                                    {.batch_size = batch_size, .allow_empty = true});
}

// watched: with a second head, which a metric reads and the loss does not: a batch norm of the
// dense input, and a layer behind it.
Model ClickModel(OptimizerSpec optimizer, bool watched = false) {
  Graph g;
  const Var dense = g.Dense("dense", 2);
  std::vector<Var> parts = {dense};
  for (int s = 0; s < kClickSlots; ++s) {
    parts.push_back(Embedding(g.Ids(fmt::format("C{}", s)),
                              {.table = "t", .dim = 4, .init = Uniform(-0.1, 0.1)}));
  }
  const Var predict = Fc(Fc(Concat(parts), 16, Relu), 2, Softmax);
  const Var label = g.Label("label");
  const Var loss = ReduceMean(CrossEntropy(predict, label));
  std::vector<MetricSpec> metrics = {Auc(predict, label)};
  if (watched) {
    const Var head = Fc(BatchNorm(dense, {.name = "bn"}), 2, Softmax, {.name = "head"});
    metrics.push_back(Auc(head, label, {.name = "head_auc"}));
  }
  return {.graph = std::move(g),
          .loss = loss,
          .optimizer = std::move(optimizer),
          .metrics = std::move(metrics)};
}

// Every parameter, one after the other.
std::vector<float> ParametersOf(Communicator& communicator) {
  std::vector<float> all;
  std::vector<std::string> names;
  for (const ParameterSpec& spec : communicator.spec().parameters) names.push_back(spec.name);
  names.push_back("t");
  for (const std::string& name : names) {
    const auto tensor = communicator.ReadParameter(name);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    if (tensor.ok()) all.insert(all.end(), tensor->data.begin(), tensor->data.end());
  }
  return all;
}

std::map<std::string, std::vector<float>> DenseOf(Communicator& communicator) {
  std::map<std::string, std::vector<float>> dense;
  for (const ParameterSpec& spec : communicator.spec().parameters) {
    const auto tensor = communicator.ReadParameter(spec.name);
    EXPECT_TRUE(tensor.ok()) << tensor.status();
    if (tensor.ok()) dense[spec.name].assign(tensor->data.begin(), tensor->data.end());
  }
  return dense;
}

struct Job {
  ModeOptions mode;
  OptimizerSpec optimizer = Adam(1e-2);
  int servers = 1;
  int trainers = 1;
  int idle = 0;  // of them, the last, have no data
  int workers = 1;
  int64_t rows = 600;
  int64_t batch_size = 20;
  int epochs = 1;
  Wire wire = Wire::kInproc;
  bool watched = false;
};

struct Outcome {
  Status status;
  std::vector<float> parameters;                    // as the servers have them
  std::map<std::string, std::vector<float>> dense;  // the dense ones by name
  int64_t rows = 0;                                 // trained by all trainers
  int64_t global_step = 0;
  double first_loss = 0, last_loss = 0;  // of trainer 0's epochs
};

StatusOr<std::vector<Report>> TrainOne(const Job& job, const Model& model, Communicator& mode,
                                       Dataset& dataset) {
  FL_ASSIGN_OR_RETURN(auto trainer,
                      Trainer::Make(&model, &mode, &kClock, {.workers = job.workers}));
  std::vector<Report> reports;
  for (int epoch = 0; epoch < job.epochs; ++epoch) {
    FL_ASSIGN_OR_RETURN(Report report, trainer->TrainEpoch(dataset, epoch));
    reports.push_back(std::move(report));
  }
  return reports;
}

Outcome RunJob(const Job& job) {
  const Model model = ClickModel(job.optimizer, job.watched);
  const ModelSpec spec = SpecOf(model, 3);
  const std::string& mode = job.mode.mode;
  const UpdatePolicy policy = GetMode(mode).policy;
  InProcessCluster cluster(
      spec, {.servers = job.servers, .trainers = job.trainers, .wire = job.wire, .policy = policy});
  Mutex mutex;
  Outcome outcome;
  outcome.status = cluster.RunTrainers([&](int t, PsClient& client) -> Status {
    FL_ASSIGN_OR_RETURN(auto communicator, MakeCommunicator(spec, job.mode, &client, &kClock));
    const int busy = job.trainers - job.idle;
    const auto dataset = DataOf(t, busy, t < busy ? job.rows : 0, job.batch_size);
    FL_ASSIGN_OR_RETURN(const auto reports, TrainOne(job, model, *communicator, *dataset));
    FL_RETURN_IF_ERROR(client.Barrier("end"));
    MutexLock lock(mutex);
    for (const Report& report : reports) outcome.rows += report.rows;
    if (t == 0) {
      outcome.first_loss = reports.front().loss;
      outcome.last_loss = reports.back().loss;
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  if (!outcome.status.ok()) return outcome;
  auto reader = MakeCommunicator(spec, {.mode = "half-async"}, &cluster.client(0), &kClock);
  EXPECT_TRUE(reader.ok()) << reader.status();
  outcome.parameters = ParametersOf(**reader);
  outcome.dense = DenseOf(**reader);
  outcome.global_step = cluster.server(0).service().global_step();
  const Status stopped = cluster.StopAll();
  EXPECT_TRUE(stopped.ok()) << stopped;
  return outcome;
}

// One process, batch after batch.
std::vector<float> Local(const OptimizerSpec& optimizer, int64_t rows, int64_t batch_size,
                         int epochs) {
  const Model model = ClickModel(optimizer);
  auto local = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = true});
  const auto dataset = DataOf(0, 1, rows, batch_size);
  const auto reports = TrainOne({.epochs = epochs}, model, *local, *dataset);
  EXPECT_TRUE(reports.ok()) << reports.status();
  return ParametersOf(*local);
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << "parameter " << i;
}

TEST(ModesTest, SyncTrainersEqualOneProcessThatAveragesTheirBatches) {
  for (int trainers : {1, 2, 4}) {
    const Outcome outcome = RunJob(
        {.mode = {.mode = "sync"}, .servers = 2, .trainers = trainers, .rows = 480, .epochs = 2});
    ExpectNear(outcome.parameters, Local(Adam(1e-2), 480, 20 * trainers, 2));
    EXPECT_EQ(outcome.global_step, 2 * 480 / (20 * trainers)) << "rounds";
  }
}

TEST(ModesTest, SyncHasTheSameBitsInEveryRunAndForAnyNumberOfServers) {
  for (int workers : {1, 2}) {
    Job job{.mode = {.mode = "sync"}, .trainers = 2, .workers = workers, .rows = 270};
    const std::vector<float> expected = RunJob(job).parameters;
    for (int servers : {1, 2, 5}) {
      job.servers = servers;
      EXPECT_EQ(RunJob(job).parameters, expected) << servers << " servers";
    }
  }
}

TEST(ModesTest, WorkersOfATrainerAreAveragedAndPushOnce) {
  for (int workers : {2, 3}) {
    const std::vector<float> expected = Local(Sgd(0.5), 480, 20 * workers, 2);
    for (const std::string mode : {"sync", "half-async"}) {
      SCOPED_TRACE(fmt::format("{}, {} workers", mode, workers));
      const Outcome outcome = RunJob({.mode = {.mode = mode},
                                      .optimizer = Sgd(0.5),
                                      .workers = workers,
                                      .rows = 480,
                                      .epochs = 2});
      ExpectNear(outcome.parameters, expected);
      EXPECT_EQ(outcome.global_step, mode == "sync" ? 2 * 480 / (20 * workers) : 2 * 480 / 20);
    }
  }
}

TEST(ModesTest, HalfAsyncWithOneTrainerEqualsLocal) {
  ExpectNear(RunJob({.mode = {.mode = "half-async"}, .servers = 2}).parameters,
             Local(Adam(1e-2), 600, 20, 1));
}

// Each batch is computed on what the one before it left.
ModeOptions NeverBehind() {
  ModeOptions mode{.mode = "async"};
  mode.async.max_merge = 1;
  mode.async.prefetch = false;
  mode.async.max_staleness = 0;
  return mode;
}

TEST(ModesTest, AsyncThatIsNeverBehindEqualsLocal) {
  ExpectNear(RunJob({.mode = NeverBehind(), .servers = 2, .epochs = 2}).parameters,
             Local(Adam(1e-2), 600, 20, 2));
}

TEST(ModesTest, GeoWithOneTrainerEqualsLocal) {
  for (const OptimizerSpec& optimizer : {Sgd(0.5), Adam(1e-2)}) {
    Job job{.mode = {.mode = "geo"}, .optimizer = optimizer, .servers = 2, .epochs = 2};
    job.mode.geo.interval.push_nums = 3;
    ExpectNear(RunJob(job).parameters, Local(optimizer, 600, 20, 2));
  }
}

TEST(ModesTest, GeoWithOneTrainerThatHasDataAmongManyEqualsLocal) {
  for (const GeoDivisor divisor :
       {GeoDivisor::kTouched, GeoDivisor::kTrainers, GeoDivisor::kNone}) {
    Job job{.mode = {.mode = "geo"}, .servers = 2, .trainers = 4, .idle = 3, .epochs = 2};
    job.mode.geo.interval.push_nums = 3;
    job.mode.geo.divisor = divisor;
    const Outcome outcome = RunJob(job);
    ExpectNear(outcome.parameters, Local(job.optimizer, 600, 20, 2));
    EXPECT_EQ(outcome.global_step, 60);
  }
}

// Weights that the loss does not reach stay as they were, with neither decay nor momentum; running
// statistics follow the batches: the dense input is uniform in [-0.5, 0.5].
TEST(ModesTest, WhatTheLossDoesNotReachIsLeftAloneButForStatistics) {
  OptimizerSpec optimizer = Momentum(0.1, {.momentum = 0.9});
  optimizer.decay = {.l1 = 0, .l2 = 0.1};
  const Model model = ClickModel(optimizer, true);
  const auto start = DenseOf(**LocalCommunicator::Make(SpecOf(model, 3), {}));
  // The variance starts at 1 and falls to that of the data. GEO applies half of each trainer's
  // difference, so its last part is missing when trainers exchange seldom, on a busy machine.
  const auto expect_left_alone = [&](const std::map<std::string, std::vector<float>>& dense,
                                     double more = 0.03) {
    for (const char* name : {"head.w_0", "head.b_0", "bn.w_0", "bn.b_0"}) {
      EXPECT_EQ(dense.at(name), start.at(name)) << name;
    }
    EXPECT_NE(dense.at("fc_0.w_0"), start.at("fc_0.w_0"));
    for (int d = 0; d < 2; ++d) {
      EXPECT_NEAR(dense.at("bn.mean")[d], 0, 0.1);
      EXPECT_GT(dense.at("bn.variance")[d], 1.0 / 12 - 0.03);
      EXPECT_LT(dense.at("bn.variance")[d], 1.0 / 12 + more);
    }
  };
  for (const bool joined : {false, true}) {
    SCOPED_TRACE(joined ? "local, deterministic" : "local");
    auto local = *LocalCommunicator::Make(SpecOf(model, 3), {.joined = joined});
    const auto dataset = DataOf(0, 1, 2400, 20);
    const auto reports = TrainOne({.workers = 2}, model, *local, *dataset);
    ASSERT_TRUE(reports.ok()) << reports.status();
    expect_left_alone(DenseOf(*local));
  }
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    for (const int workers : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, {} workers", mode, workers));
      Job job{.mode = {.mode = mode},
              .optimizer = optimizer,
              .servers = 2,
              .trainers = 2,
              .workers = workers,
              .rows = 2400,
              .epochs = 2,
              .watched = true};
      job.mode.geo.interval.push_nums = 2;
      expect_left_alone(RunJob(job).dense, mode == "geo" ? 0.4 : 0.03);
    }
  }
}

TEST(ModesTest, EveryModeLearnsFromUnevenDataOnJobsOfAnyShape) {
  const std::pair<int, int> shapes[] = {{1, 1}, {2, 2}, {3, 4}};
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    for (const auto& [servers, trainers] : shapes) {
      SCOPED_TRACE(fmt::format("{} {}x{}", mode, servers, trainers));
      // 47 batches, the last one short: no number of trainers divides them.
      Job job{.mode = {.mode = mode}, .servers = servers, .trainers = trainers, .rows = 930};
      job.epochs = 8;
      job.workers = 2;
      job.wire = servers == 2 ? Wire::kTcp : Wire::kInproc;
      job.mode.geo.interval.push_nums = 2;
      const Outcome outcome = RunJob(job);
      EXPECT_EQ(outcome.rows, 930 * job.epochs) << "every row is trained once an epoch";
      EXPECT_LT(outcome.last_loss, outcome.first_loss - 0.02);
      // The number of rounds of the trainer with the most batches, with two batches in a round.
      const int64_t most = (47 + trainers - 1) / trainers;
      const int64_t rounds = (most + 1) / 2;
      EXPECT_EQ(outcome.global_step, job.epochs * (mode == "sync" ? rounds : 47));
    }
  }
}

TEST(ModesTest, ATrainerWithoutDataWorksInEveryMode) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    // Two batches for four trainers: the last two have none.
    const Outcome outcome =
        RunJob({.mode = {.mode = mode}, .trainers = 4, .rows = 40, .epochs = 2});
    EXPECT_EQ(outcome.rows, 80);
    EXPECT_EQ(outcome.global_step, mode == "sync" ? 2 : 4);
  }
}

TEST(ModesTest, MoreServersThanParametersChangeNothing) {
  // Four dense parameters, which are one block, and a table: most servers have only rows.
  const std::vector<float> local = Local(Adam(1e-2), 200, 20, 1);
  ModeOptions geo{.mode = "geo"};
  geo.geo.interval.push_nums = 3;
  for (const ModeOptions& mode :
       {ModeOptions{.mode = "sync"}, ModeOptions{.mode = "half-async"}, NeverBehind(), geo}) {
    SCOPED_TRACE(mode.mode);
    const Outcome outcome = RunJob({.mode = mode, .servers = 9, .rows = 200});
    ExpectNear(outcome.parameters, local);
    EXPECT_EQ(outcome.global_step, 10);
  }
}

TEST(ModesTest, TrainersDrawMasksOfTheirOwn) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    Graph g;
    const Var kept = Dropout(g.Dense("x", 32), 0.5);
    const Var loss = ReduceSum(Fc(kept, 1));
    const Model model{.graph = std::move(g), .loss = loss, .optimizer = Sgd(0.1)};
    const ModelSpec spec = SpecOf(model, 3);
    const UpdatePolicy policy = GetMode(mode).policy;
    InProcessCluster cluster(spec, {.trainers = 2, .policy = policy});
    std::vector<std::vector<float>> masks(2);
    ASSERT_OK(cluster.RunTrainers([&](int t, PsClient& client) -> Status {
      FL_ASSIGN_OR_RETURN(auto communicator,
                          MakeCommunicator(spec, {.mode = mode}, &client, &kClock));
      TrainerOptions options{.fetches = {kept.index()}, .fetch_batches = 1};
      options.on_fetch = [&](int64_t, std::span<const FetchedValue> values) {
        masks[t].assign(values[0].values.begin(), values[0].values.end());
      };
      FL_ASSIGN_OR_RETURN(auto trainer,
                          Trainer::Make(&model, communicator.get(), &kClock, options));
      Batch row{.rows = 1, .fields = std::vector<Field>(1)};
      row.fields[0].values.assign(32, 1);
      const auto dataset = *InMemoryDataset::FromRows(model.graph.def().inputs, std::move(row), {});
      return trainer->TrainEpoch(*dataset, 0).status();
    }));
    EXPECT_EQ(masks[0].size(), 32u);
    EXPECT_NE(masks[0], masks[1]);
  }
}

TEST(ModesTest, APauseComesWhenEverythingThatWasReadIsTrained) {
  const Model model = ClickModel(Sgd(0.1));
  const ModelSpec spec = SpecOf(model, 3);
  InProcessCluster cluster(spec, {});
  ASSERT_OK(cluster.ConnectAll());
  auto communicator = *MakeCommunicator(spec, {.mode = "async"}, &cluster.client(0), &kClock);
  ASSERT_EQ(communicator->schedule().ahead, Schedule::Ahead::kPull);
  const auto dataset = DataOf(0, 1, 900, 10);
  int64_t trained = 0;
  int pauses = 0;
  TrainerOptions options{.workers = 3};
  options.progress_batches = 1;
  options.on_progress = [&](const Progress& progress) { trained = progress.rows; };
  std::atomic<int> asked = 0;
  options.want_pause = [&] { return ++asked % 20 == 0; };
  options.at_pause = [&] {
    ++pauses;
    EXPECT_EQ(dataset->counts().rows, trained) << "read, but not trained";
    return absl::OkStatus();
  };
  std::atomic<bool> stop = false;
  options.stop = [&] { return stop.load(); };
  auto trainer = *Trainer::Make(&model, communicator.get(), &kClock, options);
  auto report = trainer->TrainEpoch(*dataset, 0);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->rows, 900);
  EXPECT_GE(pauses, 2);
  stop = true;
  report = trainer->TrainEpoch(*dataset, 1);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->stopped);
  EXPECT_EQ(report->rows, dataset->counts().rows);
}

}  // namespace
}  // namespace flotilla
