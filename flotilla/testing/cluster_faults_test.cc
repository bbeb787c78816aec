// Every push takes effect exactly once: pushes that are repeated because answers were lost, and
// requests that arrive twice. Updates are whole numbers, exact in float32.
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using FaultsTest = ClusterTest;
FL_ON_MOST_WIRES(FaultsTest);

ClusterOptions Faulty(Wire wire, UpdatePolicy policy, uint64_t seed) {
  ClusterOptions options{.servers = 2, .trainers = 3, .wire = wire, .policy = policy};
  options.faults = FaultOptions{.seed = seed,
                                .lose_reply = 0.2,
                                .lose_request = 0.1,
                                .send_twice = 0.2,
                                .delay = 0.1,
                                .max_delay_ms = 2};
  options.client.retry = {.retry_times = 50, .first_backoff_ms = 1, .max_backoff_ms = 2};
  return options;
}

// Every trainer pushes ones; several pushes of a trainer are in flight together.
Status PushOnes(PsClient& client, PushKind kind, int pushes, int together) {
  const std::vector<float> dense(static_cast<size_t>(client.layout().size()), 1);
  const std::vector<SparseRows> rows = {RowsOf(IdRange(0, 40), 2)};
  for (int i = 0; i < pushes; i += together) {
    std::vector<std::unique_ptr<PendingCalls>> under_way;
    for (int k = 0; k < together; ++k) {
      under_way.push_back(client.StartPush({.kind = kind, .dense = dense, .sparse = rows}));
    }
    for (const auto& push : under_way) FL_RETURN_IF_ERROR(push->Wait());
  }
  return absl::OkStatus();
}

void ExpectEverywhere(InProcessCluster& cluster, float value) {
  const auto table = cluster.client(0).ReadTable(0);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->values, AlignedVector<float>(80, value));
  std::vector<float> dense(static_cast<size_t>(cluster.client(0).layout().size()));
  ASSERT_OK(cluster.client(0).PullDense(dense));
  EXPECT_EQ(std::vector<float>(dense.begin(), dense.begin() + 9000),
            std::vector<float>(9000, value));
  EXPECT_GT(cluster.lost_replies(), 20);
}

TEST_P(FaultsTest, PushesOnArrivalAreAppliedExactlyOnce) {
  InProcessCluster cluster(CountingModel({9000}, {2}),
                           Faulty(GetParam(), UpdatePolicy::kOnArrival, 17));
  ASSERT_OK(cluster.RunTrainers(
      [](int, PsClient& client) { return PushOnes(client, PushKind::kOnArrival, 40, 4); }));
  ExpectEverywhere(cluster, 3 * 40);
  // What the servers applied is what was pushed, and the step agrees.
  for (int s = 0; s < 2; ++s) {
    EXPECT_EQ(cluster.server(s).service().applied(), 3 * 40);
    EXPECT_EQ(cluster.server(s).service().global_step(), 3 * 40);
  }
}

TEST_P(FaultsTest, DeltasAreAddedExactlyOnce) {
  InProcessCluster cluster(CountingModel({9000}, {2}),
                           Faulty(GetParam(), UpdatePolicy::kAddDelta, 18));
  ASSERT_OK(cluster.RunTrainers(
      [](int, PsClient& client) { return PushOnes(client, PushKind::kDelta, 40, 2); }));
  ExpectEverywhere(cluster, 3 * 40);
}

TEST_P(FaultsTest, RoundsHappenExactlyOnce) {
  InProcessCluster cluster(CountingModel({9000}, {2}),
                           Faulty(GetParam(), UpdatePolicy::kOnBarrier, 19));
  ASSERT_OK(cluster.RunTrainers([](int, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    FL_RETURN_IF_ERROR(PushOnes(client, PushKind::kInRound, 25, 1));
    return client.LeaveRounds();
  }));
  ExpectEverywhere(cluster, 25);  // the mean of ones, 25 times
  EXPECT_EQ(cluster.server(0).service().global_step(), 25);
}

TEST_P(FaultsTest, RoundsThatCannotKeepEarlyPartsHappenExactlyOnceToo) {
  ClusterOptions options = Faulty(GetParam(), UpdatePolicy::kOnBarrier, 20);
  options.server.service.rounds.max_waiting_bytes = 0;
  InProcessCluster cluster(CountingModel({9000}, {2}), options);
  ASSERT_OK(cluster.RunTrainers([](int, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    FL_RETURN_IF_ERROR(PushOnes(client, PushKind::kInRound, 25, 1));
    return client.LeaveRounds();
  }));
  ExpectEverywhere(cluster, 25);
}

TEST_P(FaultsTest, EverythingEndsWellAlsoWhenTheLastRepliesGetLost) {
  ClusterOptions options = Faulty(GetParam(), UpdatePolicy::kOnArrival, 21);
  options.faults->lose_reply = 0.5;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.RunTrainers([](int, PsClient& client) -> Status {
    const std::vector<SparseRows> rows = {RowsOf({1}, 1)};
    return client.Push({.sparse = rows});
  }));
  ASSERT_OK(cluster.StopAll());
}

}  // namespace
}  // namespace flotilla
