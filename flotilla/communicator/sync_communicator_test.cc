#include "flotilla/communicator/sync_communicator.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flotilla/base/rng.h"
#include "flotilla/communicator/mode_testing.h"
#include "flotilla/optim/adam.h"

namespace flotilla {
namespace {

ModelSpec AdamSpec() {
  ModelSpec spec = CountingSpec();
  spec.optimizer = Adam(0.01);
  for (TableSpec& table : spec.tables) table.attributes.init = Uniform(-1, 1);
  for (ParameterSpec& parameter : spec.parameters) parameter.attributes.init = Uniform(-1, 1);
  return spec;
}

// The gradients of one trainer in one round, any numbers.
Gradients Random(const ModelSpec& spec, int trainer, int step) {
  const RngKey key = RngKey(9).With(trainer).With(step);
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 6; ++i) ids.push_back(10 * i + key.Below(i, 10));
  Gradients gradients = Count(spec, ids);
  for (size_t i = 0; i < gradients.dense.size(); ++i) {
    gradients.dense[i] = key.Uniform(100 + i) - 0.5f;
  }
  for (SparseRows& rows : gradients.sparse) {
    for (size_t i = 0; i < rows.values.size(); ++i) {
      rows.values[i] = key.Uniform(1'000'000 + i) - 0.5f;
    }
  }
  return gradients;
}

struct Result {
  AlignedVector<float> dense;
  std::vector<SparseRows> tables;
  int64_t step = 0;
};

// Trainer t takes part in steps[t] rounds.
Result Train(int servers, const std::vector<int>& steps) {
  InProcessCluster cluster(AdamSpec(), {.servers = servers,
                                        .trainers = static_cast<int>(steps.size()),
                                        .policy = UpdatePolicy::kOnBarrier});
  const Status status =
      RunModes(cluster, {.mode = "sync"}, [&](int trainer, Communicator& communicator) -> Status {
        FL_RETURN_IF_ERROR(communicator.BeginEpoch());
        for (int step = 0; step < steps[trainer]; ++step) {
          Gradients gradients = Random(communicator.spec(), trainer, step);
          FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
        }
        return communicator.Flush();
      });
  EXPECT_TRUE(status.ok()) << status;
  Result result;
  PsClient& client = cluster.client(0);
  result.dense.resize(static_cast<size_t>(client.layout().size()));
  EXPECT_TRUE(client.PullDense(result.dense).ok());
  for (int t = 0; t < 2; ++t) result.tables.push_back(*client.ReadTable(t));
  result.step = cluster.server(0).service().global_step();
  return result;
}

void ExpectSameBits(const Result& a, const Result& b) {
  EXPECT_EQ(a.dense, b.dense);
  for (int t = 0; t < 2; ++t) {
    EXPECT_EQ(a.tables[t].ids, b.tables[t].ids);
    EXPECT_EQ(a.tables[t].values, b.tables[t].values);
  }
  EXPECT_EQ(a.step, b.step);
}

// One process that averages the gradients of the trainers in each round.
Result Reference(const std::vector<int>& steps) {
  auto local = *LocalCommunicator::Make(AdamSpec(), {.joined = true});
  GradientMerger merger(local->spec());
  const int rounds = *std::max_element(steps.begin(), steps.end());
  for (int step = 0; step < rounds; ++step) {
    const auto in_round =
        std::count_if(steps.begin(), steps.end(), [&](int s) { return s > step; });
    merger.Start();
    for (size_t t = 0; t < steps.size(); ++t) {
      if (steps[t] <= step) continue;
      merger.Add(Random(local->spec(), static_cast<int>(t), step),
                 1.0f / static_cast<float>(in_round));
    }
    EXPECT_TRUE(local->Push(0, merger.Result()).ok());
  }
  Result result;
  result.dense.assign(local->dense().begin(), local->dense().end());
  for (int t = 0; t < 2; ++t) {
    const Tensor tensor = *local->ReadParameter(local->spec().tables[t].name);
    result.tables.emplace_back().values.assign(tensor.data.begin(), tensor.data.end());
  }
  result.step = local->global_step();
  return result;
}

void ExpectNear(const Result& a, const Result& b) {
  EXPECT_EQ(a.step, b.step);
  ASSERT_EQ(a.dense.size(), b.dense.size());
  for (size_t i = 0; i < a.dense.size(); ++i) ASSERT_NEAR(a.dense[i], b.dense[i], 1e-5) << i;
  for (int t = 0; t < 2; ++t) {
    ASSERT_EQ(a.tables[t].values.size(), b.tables[t].values.size());
    for (size_t i = 0; i < a.tables[t].values.size(); ++i) {
      ASSERT_NEAR(a.tables[t].values[i], b.tables[t].values[i], 1e-5) << t << " " << i;
    }
  }
}

TEST(SyncCommunicatorTest, TrainersEqualOneProcessThatAveragesTheirGradients) {
  for (const std::vector<int>& steps : std::vector<std::vector<int>>{{5}, {5, 5}, {4, 4, 4, 4}}) {
    ExpectNear(Train(2, steps), Reference(steps));
  }
}

TEST(SyncCommunicatorTest, ATrainerThatRunsOutOfDataLeavesAndTheMeanIsOverTheRest) {
  ExpectNear(Train(2, {3, 6, 1}), Reference({3, 6, 1}));
}

TEST(SyncCommunicatorTest, ATrainerWithoutDataHoldsNobodyUp) {
  ExpectNear(Train(2, {0, 4}), Reference({0, 4}));
  EXPECT_EQ(Train(1, {0, 0}).step, 0);
}

TEST(SyncCommunicatorTest, TheBitsDoNotDependOnServersOrTiming) {
  const Result expected = Train(1, {4, 4, 2});
  // The dense block has three blocks: some of five servers have none.
  for (int servers : {1, 2, 5}) ExpectSameBits(Train(servers, {4, 4, 2}), expected);
}

TEST(SyncCommunicatorTest, AllTrainersSeeTheSameParametersInEveryRound) {
  InProcessCluster cluster(AdamSpec(),
                           {.servers = 2, .trainers = 3, .policy = UpdatePolicy::kOnBarrier});
  std::vector<std::vector<float>> seen(3);
  ASSERT_OK(RunModes(cluster, {.mode = "sync"}, [&](int trainer, Communicator& communicator) {
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());
    for (int step = 0; step < 5; ++step) {
      const std::span<const float> dense = communicator.dense();
      seen[trainer].insert(seen[trainer].end(), dense.begin(), dense.end());
      Gradients gradients = Random(communicator.spec(), trainer, step);
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
      EXPECT_EQ(communicator.global_step(), step + 1) << "rounds, not pushes";
    }
    return communicator.Flush();
  }));
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

}  // namespace
}  // namespace flotilla
