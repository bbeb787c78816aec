// Apply on barrier: rounds of all trainers, added in trainer order.
#include <cmath>
#include <cstring>
#include <thread>

#include "flotilla/optim/adam.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using RoundsTest = ClusterTest;
FL_ON_MOST_WIRES(RoundsTest);

constexpr int64_t kDim = 3;

// Numbers whose sum depends on the order in which they are added.
float Odd(int trainer, int round, size_t i) {
  return RngKey(9).With(trainer).With(round).Normal(i) * std::exp2(static_cast<float>(i % 40) - 20);
}

// The push of trainer t in a round: some rows that overlap with those of other trainers.
void FillPart(int trainer, int round, std::vector<float>* dense, SparseRows* rows) {
  for (size_t i = 0; i < dense->size(); ++i) (*dense)[i] = Odd(trainer, round, i);
  *rows = RowsOf({}, kDim);
  for (uint64_t id = 0; id < 60; ++id) {
    if (RngKey(3).With(trainer).With(round).Below(id, 3) == 0) rows->ids.push_back(id * 977);
  }
  rows->values.resize(rows->size() * kDim);
  for (size_t i = 0; i < rows->values.size(); ++i) rows->values[i] = Odd(trainer, round, i + 77);
}

struct RoundsOutcome {
  std::vector<float> dense;
  SparseRows rows;
  int64_t step = 0;
};

// Three rounds of all trainers on a model with Adam; the last trainer leaves after `last_rounds`.
RoundsOutcome RunRounds(Wire wire, int servers, int trainers, int last_rounds, uint64_t jitter = 0,
                        size_t max_waiting_bytes = size_t{1} << 20) {
  ModelSpec spec = CountingModel({20'000, 100}, {kDim});
  spec.optimizer = Adam(0.1);
  ClusterOptions options{
      .servers = servers, .trainers = trainers, .wire = wire, .policy = UpdatePolicy::kOnBarrier};
  options.server.service.rounds.max_waiting_bytes = max_waiting_bytes;
  if (jitter != 0) options.faults = FaultOptions{.seed = jitter, .delay = 0.5, .max_delay_ms = 3};
  InProcessCluster cluster(spec, options);
  const Status status = cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    std::vector<float> dense(static_cast<size_t>(client.layout().size()));
    std::vector<SparseRows> rows(1);
    const int rounds = trainer == trainers - 1 ? last_rounds : 3;
    for (int round = 0; round < rounds; ++round) {
      FillPart(trainer, round, &dense, &rows[0]);
      FL_RETURN_IF_ERROR(
          client.Push({.kind = PushKind::kInRound, .dense = dense, .sparse = rows, .rows = 10}));
    }
    return client.LeaveRounds();
  });
  EXPECT_TRUE(status.ok()) << status;
  RoundsOutcome state;
  state.dense.resize(static_cast<size_t>(cluster.client(0).layout().size()));
  EXPECT_TRUE(cluster.client(0).PullDense(state.dense).ok());
  state.rows = *cluster.client(0).ReadTable(0);
  state.step = cluster.client(0).global_step();
  return state;
}

bool SameBits(const RoundsOutcome& a, const RoundsOutcome& b) {
  return a.rows.ids == b.rows.ids && a.dense.size() == b.dense.size() &&
         a.rows.values.size() == b.rows.values.size() &&
         std::memcmp(a.dense.data(), b.dense.data(), a.dense.size() * sizeof(float)) == 0 &&
         std::memcmp(a.rows.values.data(), b.rows.values.data(),
                     a.rows.values.size() * sizeof(float)) == 0;
}

TEST_P(RoundsTest, TheSameBitsForAnyNumberOfServersAndAnyTiming) {
  const RoundsOutcome one = RunRounds(GetParam(), 1, 3, 3);
  EXPECT_EQ(one.step, 3);
  EXPECT_GT(one.rows.size(), 30u);
  EXPECT_TRUE(SameBits(one, RunRounds(GetParam(), 2, 3, 3, 5)));
  EXPECT_TRUE(SameBits(one, RunRounds(GetParam(), 5, 3, 3, 6)));
}

TEST_P(RoundsTest, TheSameBitsWhenEarlyPartsAreNotKept) {
  const RoundsOutcome roomy = RunRounds(GetParam(), 2, 4, 3);
  EXPECT_TRUE(SameBits(roomy, RunRounds(GetParam(), 2, 4, 3, 8, 0)));
}

TEST_P(RoundsTest, ATrainerWithoutDataLeavesAndTheOthersGoOn) {
  const RoundsOutcome left = RunRounds(GetParam(), 1, 3, 1);
  EXPECT_EQ(left.step, 3);
  EXPECT_TRUE(SameBits(left, RunRounds(GetParam(), 5, 3, 1, 4)));
}

TEST(RoundsValueTest, TheUpdateIsTheMeanOverTheTrainersOfTheRound) {
  InProcessCluster cluster(CountingModel({10}, {1}),
                           {.servers = 2, .trainers = 3, .policy = UpdatePolicy::kOnBarrier});
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    const auto value = static_cast<float>(trainer + 1);
    const std::vector<float> dense(static_cast<size_t>(client.layout().size()), value);
    // All trainers have row 7, trainer t also row 100 + t.
    const std::vector<SparseRows> rows = {
        RowsOf({7, 100u + static_cast<uint64_t>(trainer)}, 1, value)};
    FL_RETURN_IF_ERROR(
        client.Push({.kind = PushKind::kInRound, .dense = dense, .sparse = rows, .rows = 1}));
    FL_RETURN_IF_ERROR(client.LeaveRounds());
    return client.Barrier("end");
  }));
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = {7, 100, 102};
  ASSERT_OK(cluster.client(1).Pull(Missing::kDefault, pulled));
  EXPECT_FLOAT_EQ(pulled[0].values[0], 2);  // (1 + 2 + 3) / 3
  EXPECT_FLOAT_EQ(pulled[0].values[1], 1.0f / 3);
  EXPECT_FLOAT_EQ(pulled[0].values[2], 3.0f / 3);
  std::vector<float> dense(16);
  ASSERT_OK(cluster.client(2).PullDense(dense));
  EXPECT_FLOAT_EQ(dense[9], 2);
}

TEST(RoundsValueTest, PushAnswersWithTheDenseValuesOfTheRound) {
  InProcessCluster cluster(CountingModel({9000}, {}),
                           {.servers = 2, .trainers = 2, .policy = UpdatePolicy::kOnBarrier});
  ASSERT_OK(cluster.RunTrainers([](int, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    std::vector<float> dense(static_cast<size_t>(client.layout().size()), 1), fresh(dense.size());
    for (int round = 1; round <= 20; ++round) {
      FL_RETURN_IF_ERROR(client.Push(
          {.kind = PushKind::kInRound, .dense = dense, .rows = 1, .fresh_dense = fresh}));
      if (fresh[5] != static_cast<float>(round) || fresh[8999] != static_cast<float>(round)) {
        return Internal("round {}: {} and {}", round, fresh[5], fresh[8999]);
      }
    }
    return client.LeaveRounds();
  }));
}

TEST(RoundsValueTest, TrainersEnterAgainForTheNextEpoch) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.trainers = 2, .policy = UpdatePolicy::kOnBarrier});
  ASSERT_OK(cluster.RunTrainers([](int trainer, PsClient& client) -> Status {
    const std::vector<SparseRows> rows = {RowsOf({1}, 1)};
    for (int epoch = 0; epoch < 3; ++epoch) {
      FL_RETURN_IF_ERROR(client.EnterRounds());
      for (int round = 0; round < 2 + trainer; ++round) {
        FL_RETURN_IF_ERROR(client.Push({.kind = PushKind::kInRound, .sparse = rows}));
      }
      FL_RETURN_IF_ERROR(client.LeaveRounds());
    }
    return absl::OkStatus();
  }));
  // Per epoch two rounds of both and one of trainer 1 alone: the mean is 1 each time.
  EXPECT_EQ(cluster.server(0).service().global_step(), 9);
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = {1};
  ASSERT_OK(cluster.client(0).Pull(Missing::kDefault, pulled));
  EXPECT_EQ(pulled[0].values[0], 9);
}

TEST(RoundsValueTest, ManyTrainersShareOneAccumulator) {
#ifdef __SANITIZE_THREAD__
  constexpr int kTrainers =
      8;  // gRPC is not built with it: each call costs reports that are suppressed
#else
  constexpr int kTrainers = 32;
#endif
  ClusterOptions options{
      .servers = 2, .trainers = kTrainers, .wire = Wire::kTcp, .policy = UpdatePolicy::kOnBarrier};
  // Room for two of the parts of a round.
  options.server.service.rounds.max_waiting_bytes = 2 * 5'000 * sizeof(float);
  InProcessCluster cluster(CountingModel({10'000}, {1}), options);
  ASSERT_OK(cluster.RunTrainers([](int trainer, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    const std::vector<float> dense(static_cast<size_t>(client.layout().size()),
                                   static_cast<float>(trainer));
    const std::vector<SparseRows> rows = {RowsOf({static_cast<uint64_t>(trainer)}, 1, kTrainers)};
    for (int round = 0; round < 3; ++round) {
      FL_RETURN_IF_ERROR(
          client.Push({.kind = PushKind::kInRound, .dense = dense, .sparse = rows, .rows = 1}));
    }
    return client.LeaveRounds();
  }));
  std::vector<float> dense(10'000);
  ASSERT_OK(cluster.client(0).PullDense(dense));
  EXPECT_EQ(dense, std::vector<float>(10'000, 3 * (kTrainers - 1) / 2.0f));
  EXPECT_EQ(cluster.client(kTrainers - 1).ReadTable(0)->values, AlignedVector<float>(kTrainers, 3));
  ASSERT_OK(cluster.StopAll());
}

TEST(RoundsWaitTest, WaitsForLivingTrainersHaveNoEndAndNameThem) {
  ManualClock clock;
  InProcessCluster cluster(
      CountingModel({}, {1}),
      OnManualClock(&clock, {.servers = 2, .trainers = 3, .policy = UpdatePolicy::kOnBarrier}));
  ASSERT_OK(cluster.ConnectAll());
  const std::vector<SparseRows> rows = {RowsOf({1}, 1)};
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  const auto run = [&](int trainer) {
    threads.emplace_back([&, trainer] {
      PsClient& client = cluster.client(trainer);
      results[trainer] = client.EnterRounds();
      if (trainer == 1) {
        AdvanceUntilTold(clock, cluster, "waiting for trainer 1 in a round of pushes, ", 30);
      }
      if (!results[trainer].ok()) return;
      results[trainer] = client.Push({.kind = PushKind::kInRound, .sparse = rows});
    });
  };
  run(0);
  run(2);
  AdvanceUntilTold(clock, cluster, "waiting for trainer 1 in the start of rounds, ", 30);
  run(1);
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) EXPECT_TRUE(result.ok()) << result;
  ASSERT_OK(cluster.StopAll());
}

}  // namespace
}  // namespace flotilla
