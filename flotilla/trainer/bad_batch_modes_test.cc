// Bad batches (bad_batch.h) in jobs of every mode with servers, in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flotilla/base/mutex.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/testing/cluster_testing.h"
#include "flotilla/trainer/bad_batch_testing.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

const SteadyClock kModesClock;
constexpr int64_t kRows = 20;  // of a batch

struct PlantedJob {
  ModeOptions mode;
  OptimizerSpec optimizer = Adam(1e-2);
  int servers = 1;
  int workers = 1;
  std::vector<int> batches;                           // good ones of each trainer
  std::map<int, std::multimap<int, Plant>> bad = {};  // by trainer
  int64_t max_bad = 1000;
  int epochs = 1;

  int trainers() const { return static_cast<int>(batches.size()); }
};

struct PlantedOutcome {
  Status status;              // the first error in trainer order
  std::vector<Status> ended;  // of each trainer
  PlantedValues parameters;   // as the servers have them
  int64_t rows = 0, bad = 0;  // of all trainers and epochs
  int64_t step = 0;
  double first_loss = 0, last_loss = 0;  // of trainer 0's epochs
};

// The dense values and the rows of the tables of all servers.
PlantedValues ServerValues(InProcessCluster& cluster) {
  PlantedValues values;
  for (int s = 0; s < cluster.servers(); ++s) {
    ServerTables& tables = cluster.server(s).service().tables();
    const std::span<const float> dense = tables.dense();
    values["dense"].insert(values["dense"].end(), dense.begin(), dense.end());
  }
  return values;
}

PlantedOutcome RunPlanted(const PlantedJob& job) {
  const Model model = PlantedModel(job.optimizer);
  const ModelSpec spec = SpecOf(model, 3);
  InProcessCluster cluster(spec, {.servers = job.servers,
                                  .trainers = job.trainers(),
                                  .policy = GetMode(job.mode.mode).policy});
  PlantedOutcome outcome;
  outcome.ended.resize(job.batches.size());
  Mutex mutex;
  const auto train = [&](int t, PsClient& client) -> Status {
    FL_ASSIGN_OR_RETURN(auto communicator, MakeCommunicator(spec, job.mode, &client, &kModesClock));
    const auto bad = job.bad.find(t);
    const auto dataset =
        PlantedRows(t, job.trainers(), job.batches[static_cast<size_t>(t)], kRows,
                    bad == job.bad.end() ? std::multimap<int, Plant>() : bad->second);
    FL_ASSIGN_OR_RETURN(auto trainer,
                        Trainer::Make(&model, communicator.get(), &kModesClock,
                                      {.workers = job.workers, .max_bad_batches = job.max_bad}));
    for (int epoch = 0; epoch < job.epochs; ++epoch) {
      FL_ASSIGN_OR_RETURN(const Report report, trainer->TrainEpoch(*dataset, epoch));
      MutexLock lock(mutex);
      outcome.rows += report.rows;
      outcome.bad += report.bad_batches;
      if (t == 0 && epoch == 0) outcome.first_loss = report.loss;
      if (t == 0) outcome.last_loss = report.loss;
    }
    return client.Barrier("end");
  };
  outcome.status = cluster.RunTrainers([&](int t, PsClient& client) -> Status {
    const Status status = train(t, client);
    if (!status.ok()) client.Abort(status);
    MutexLock lock(mutex);
    outcome.ended[static_cast<size_t>(t)] = status;
    return status;
  });
  outcome.step = cluster.server(0).service().global_step();
  if (!outcome.status.ok()) {
    outcome.parameters = ServerValues(cluster);
    return outcome;
  }
  const auto reader =
      MakeCommunicator(spec, {.mode = "half-async"}, &cluster.client(0), &kModesClock);
  EXPECT_TRUE(reader.ok()) << reader.status();
  outcome.parameters = PlantedParameters(**reader);
  const Status stopped = cluster.StopAll();
  EXPECT_TRUE(stopped.ok()) << stopped;
  return outcome;
}

void ExpectNearDense(const PlantedValues& a, const PlantedValues& b) {
  for (const auto& [name, values] : a) {
    if (name == "t") continue;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], b.at(name)[i], 1e-5) << name << " " << i;
    }
  }
}

// Modes in which one trainer of one worker computes each batch on what the one before it left.
std::vector<ModeOptions> ModesInStep() {
  ModeOptions async{.mode = "async"};
  async.async.max_merge = 1;
  async.async.prefetch = false;
  async.async.max_staleness = 0;
  ModeOptions geo{.mode = "geo"};
  geo.geo.interval.push_nums = 3;
  return {{.mode = "sync"}, {.mode = "half-async"}, async, geo};
}

TEST(BadBatchModesTest, TrainingIsThatOfTheOtherBatches) {
  for (const ModeOptions& mode : ModesInStep()) {
    SCOPED_TRACE(mode.mode);
    PlantedJob job{.mode = mode, .servers = 2, .batches = {15}};
    const PlantedOutcome expected = RunPlanted(job);
    job.bad[0] = {{0, Plant::kLoss}, {0, Plant::kLinear}, {7, Plant::kLinear}, {15, Plant::kLoss}};
    const PlantedOutcome outcome = RunPlanted(job);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.bad, 4);
    EXPECT_EQ(outcome.rows, 15 * kRows);
    EXPECT_EQ(outcome.step, 15);
    ExpectNearDense(outcome.parameters, expected.parameters);
  }
}

TEST(BadBatchModesTest, EveryModeLearnsAroundThem) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    for (const int workers : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, {} workers", mode, workers));
      PlantedJob job{.mode = {.mode = mode}, .servers = 2, .workers = workers, .batches = {14, 9}};
      job.epochs = 8;
      job.mode.geo.interval.push_nums = 2;
      job.bad[0] = {{0, Plant::kLoss}, {1, Plant::kExplodes}, {1, Plant::kLinear}};
      job.bad[1] = {
          {0, Plant::kLinear}, {4, Plant::kLoss}, {5, Plant::kExplodes}, {9, Plant::kLoss}};
      const PlantedOutcome outcome = RunPlanted(job);
      ASSERT_TRUE(outcome.status.ok()) << outcome.status;
      EXPECT_EQ(outcome.bad, 7 * job.epochs);
      EXPECT_EQ(outcome.rows, 23 * kRows * job.epochs);
      EXPECT_LT(outcome.last_loss, outcome.first_loss);
      EXPECT_EQ(outcome.parameters.at(kProbe), std::vector<float>{1})
          << "good rows do not change it";
      ExpectFinite(outcome.parameters);
    }
  }
}

TEST(BadBatchModesTest, ASyncRoundIsTheMeanOfTheTrainersWithGoodBatches) {
  for (const int workers : {1, 2}) {
    PlantedJob alone{
        .mode = {.mode = "sync"}, .optimizer = Sgd(0.5), .workers = workers, .batches = {4}};
    // The batches of trainer 0 of two are every second one.
    PlantedJob both = alone;
    both.batches = {4, 0};
    alone.batches = {4, 0};
    const PlantedOutcome expected = RunPlanted(alone);
    both.bad[1] = {{0, Plant::kLoss}, {0, Plant::kLoss}, {0, Plant::kLinear}, {0, Plant::kLoss}};
    const PlantedOutcome outcome = RunPlanted(both);
    ASSERT_TRUE(outcome.status.ok()) << outcome.status;
    EXPECT_EQ(outcome.bad, 4);
    EXPECT_EQ(outcome.step, 4 / workers);
    for (const auto& [name, values] : expected.parameters) {
      if (name == "t") continue;
      EXPECT_EQ(outcome.parameters.at(name), values) << name;
    }
  }
}

TEST(BadBatchModesTest, ARoundWithoutAGoodBatchChangesNothing) {
  PlantedJob job{.mode = {.mode = "sync"}, .servers = 2, .batches = {0, 0}};
  const PlantedValues start = RunPlanted(job).parameters;
  job.bad[0] = {{0, Plant::kLoss}, {0, Plant::kLoss}};
  job.bad[1] = {{0, Plant::kLoss}};
  const PlantedOutcome outcome = RunPlanted(job);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(outcome.bad, 3);
  EXPECT_EQ(outcome.step, 0);
  ExpectNearDense(outcome.parameters, start);
}

TEST(BadBatchModesTest, TooManyEndTheJobWithTheirCauseAndServersKeepGoodValues) {
  for (const std::string mode : {"sync", "half-async", "async", "geo"}) {
    SCOPED_TRACE(mode);
    PlantedJob job{
        .mode = {.mode = mode}, .servers = 2, .workers = 2, .batches = {30, 30}, .max_bad = 2};
    job.mode.geo.interval.push_nums = 2;
    job.bad[1] = {{4, Plant::kLoss}, {9, Plant::kExplodes}, {20, Plant::kLinear}};
    const PlantedOutcome outcome = RunPlanted(job);
    EXPECT_THAT(Message(outcome.ended[1]), HasSubstr("linear_fc.w_0"));
    EXPECT_THAT(Message(outcome.ended[1]), HasSubstr("row 443 in memory"));
    EXPECT_THAT(Message(outcome.ended[0]), HasSubstr("trainer 1: "));
    EXPECT_THAT(Message(outcome.ended[0]), HasSubstr("linear_fc.w_0"));
    if (mode != "geo") {
      EXPECT_GT(outcome.step, 0) << "good batches before it were trained";
    }
    ExpectFinite(outcome.parameters);
    EXPECT_FALSE(outcome.parameters.at("dense").empty());
  }
}

}  // namespace
}  // namespace flotilla
