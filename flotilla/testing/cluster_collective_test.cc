// Collective calls of trainers through the servers.
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using CollectiveTest = ClusterTest;
FL_ON_EVERY_WIRE(CollectiveTest);

TEST_P(CollectiveTest, SumAddsInTrainerOrderAndGivesAllTheSameBits) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.servers = 2, .trainers = 3, .wire = GetParam()});
  std::vector<std::vector<double>> sums(3, std::vector<double>(3));
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) {
    sums[trainer] = {1e16 * (trainer == 0), 1.0 + trainer, -1e16 * (trainer == 2)};
    return client.Sum("loss", sums[trainer]);
  }));
  EXPECT_EQ(sums[0], (std::vector<double>{1e16, 6, -1e16}));
  EXPECT_EQ(sums[1], sums[0]);
  EXPECT_EQ(sums[2], sums[0]);
}

TEST_P(CollectiveTest, GatherAndBroadcastBringWhatEachGave) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.servers = 2, .trainers = 3, .wire = GetParam()});
  ASSERT_OK(cluster.RunTrainers([](int trainer, PsClient& client) -> Status {
    for (int i = 0; i < 10; ++i) {
      const std::string mine = fmt::format("{} of {}", i, trainer);
      FL_ASSIGN_OR_RETURN(const auto all, client.Gather("files", mine));
      for (int t = 0; t < 3; ++t) {
        if (all[t] != fmt::format("{} of {}", i, t)) return Internal("{}: got {}", t, all[t]);
      }
      FL_ASSIGN_OR_RETURN(const std::string root, client.Broadcast("root", mine, i % 3));
      if (root != fmt::format("{} of {}", i, i % 3)) return Internal("got {}", root);
      FL_RETURN_IF_ERROR(client.Barrier("end"));
    }
    return absl::OkStatus();
  }));
  ASSERT_OK(cluster.StopAll());
}

// The blob that trainer `from` sends to trainer `to`; of very different lengths, some empty.
std::string BlobFor(int from, int to) {
  std::string blob(static_cast<size_t>(from * 7'000 + to * 31), '\0');
  for (size_t i = 0; i < blob.size(); ++i) {
    blob[i] = static_cast<char>(RngKey(5).With(from).With(to).Bits(i));
  }
  return blob;
}

TEST_P(CollectiveTest, ExchangeBringsLargeBlobsInPieces) {
  ClusterOptions options{.servers = 2, .trainers = 4, .wire = GetParam()};
  options.client.exchange_bytes = 10'000;  // several pieces
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.RunTrainers([](int trainer, PsClient& client) -> Status {
    for (int again = 0; again < 2; ++again) {
      std::vector<std::string> outgoing;
      for (int to = 0; to < 4; ++to) outgoing.push_back(BlobFor(trainer, to));
      FL_ASSIGN_OR_RETURN(const auto incoming, client.Exchange("rows", std::move(outgoing)));
      for (int from = 0; from < 4; ++from) {
        if (incoming[from] != BlobFor(from, trainer)) return Internal("blob from {}", from);
      }
    }
    return client.Barrier("after");
  }));
}

TEST_P(CollectiveTest, TakesEffectOnceWhenRepliesGetLost) {
  ClusterOptions options{.servers = 2, .trainers = 3, .wire = GetParam()};
  options.faults =
      FaultOptions{.seed = 3, .lose_reply = 0.2, .lose_request = 0.1, .send_twice = 0.2};
  options.client.retry = {.retry_times = 50, .first_backoff_ms = 1, .max_backoff_ms = 2};
  options.client.exchange_bytes = 20'000;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.RunTrainers([](int trainer, PsClient& client) -> Status {
    for (int i = 0; i < 20; ++i) {
      std::vector<double> values = {1, static_cast<double>(i)};
      FL_RETURN_IF_ERROR(client.Sum("sum", values));
      if (values[0] != 3 || values[1] != 3 * i) return Internal("{}: {}", i, values[0]);
    }
    std::vector<std::string> outgoing;
    for (int to = 0; to < 3; ++to) outgoing.push_back(BlobFor(trainer, to));
    FL_ASSIGN_OR_RETURN(const auto incoming, client.Exchange("rows", std::move(outgoing)));
    for (int from = 0; from < 3; ++from) {
      if (incoming[from] != BlobFor(from, trainer)) return Internal("blob from {}", from);
    }
    return absl::OkStatus();
  }));
  EXPECT_GT(cluster.lost_replies(), 5);
}

TEST(CollectiveErrorsTest, CallsThatDoNotMatchNameBothSides) {
  InProcessCluster cluster(CountingModel({}, {1}), {.trainers = 2});
  std::vector<Status> results(2);
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) {
    results[trainer] = client.Barrier(trainer == 0 ? "epoch 1" : "epoch 2");
    return absl::OkStatus();
  }));
  for (const Status& status : results) {
    EXPECT_NE(status.ToString().find("epoch 1"), std::string::npos) << status;
    EXPECT_NE(status.ToString().find("epoch 2"), std::string::npos) << status;
  }
}

TEST(CollectiveWaitTest, AWaitForLivingTrainersHasNoEndAndNamesThem) {
  ManualClock clock;
  InProcessCluster cluster(CountingModel({}, {1}),
                           OnManualClock(&clock, {.servers = 2, .trainers = 3}));
  ASSERT_OK(cluster.ConnectAll());
  std::vector<Status> results(3);
  std::vector<std::thread> threads;
  const auto join = [&](int trainer) {
    threads.emplace_back(
        [&, trainer] { results[trainer] = cluster.client(trainer).Barrier("end"); });
  };
  join(0);
  const std::string wait = "waiting for trainer 1, 2 in collective call 'end', ";
  AdvanceUntilTold(clock, cluster, wait, 30);  // 15 minutes at least
  AdvanceUntilTold(clock, cluster, "trainer 0 is " + wait, 30);
  join(1);
  join(2);
  for (std::thread& thread : threads) thread.join();
  for (const Status& result : results) EXPECT_TRUE(result.ok()) << result;
  ASSERT_OK(cluster.StopAll());
}

}  // namespace
}  // namespace flotilla
