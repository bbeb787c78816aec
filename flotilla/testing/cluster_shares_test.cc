// Shares of an epoch's rows, which trainers take from server 0.
#include <set>
#include <thread>

#include "flotilla/base/mutex.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using SharesTest = ClusterTest;
FL_ON_EVERY_WIRE(SharesTest);

// Takes shares until none is left, or `most`.
Status TakeAll(PsClient& client, std::vector<int> first, int most, std::vector<int>* taken) {
  while (static_cast<int>(taken->size()) < most) {
    FL_ASSIGN_OR_RETURN(const std::optional<int> share, client.TakeShare(first, true));
    if (!share) return absl::OkStatus();
    taken->push_back(*share);
  }
  return absl::OkStatus();
}

TEST_P(SharesTest, EveryShareIsTakenOnceByTrainersThatAreNotEquallyFast) {
  ClusterOptions options{.servers = 2, .trainers = 3, .wire = GetParam()};
  options.faults =
      FaultOptions{.seed = 4, .lose_reply = 0.2, .lose_request = 0.1, .send_twice = 0.2};
  options.client.retry = {.retry_times = 50, .first_backoff_ms = 1, .max_backoff_ms = 2};
  InProcessCluster cluster(CountingModel({}, {1}), options);
  std::vector<std::vector<int>> taken(3);
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    if (trainer == 0) {
      FL_RETURN_IF_ERROR(client.DealShares(30, std::vector<int>{4, 5}));
      // The answer to an early request that is repeated must not deal again.
      FL_RETURN_IF_ERROR(TakeAll(client, {0, 3, 6}, 3, &taken[0]));
    }
    FL_RETURN_IF_ERROR(client.Barrier("dealt"));
    // Trainer 2 is slow: it takes one of its own, and the others its nine others.
    std::vector<int> first;
    for (int share = trainer; share < 30; share += 3) first.push_back(share);
    const int most = trainer == 2 ? 1 : 100;
    FL_RETURN_IF_ERROR(TakeAll(client, first, most, &taken[trainer]));
    return client.Barrier("end");
  }));
  EXPECT_EQ(taken[2].size(), 1u);
  EXPECT_EQ(std::vector<int>(taken[0].begin(), taken[0].begin() + 3), (std::vector<int>{0, 3, 6}));
  std::multiset<int> all;
  for (const auto& own : taken) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), 28u);
  for (int share = 0; share < 30; ++share) {
    EXPECT_EQ(all.count(share), share == 4 || share == 5 ? 0u : 1u) << share;
  }
  EXPECT_GT(cluster.lost_replies(), 5);
  ASSERT_OK(cluster.StopAll());
}

TEST_P(SharesTest, WorkersOfATrainerTakeThemAtOnce) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.servers = 1, .trainers = 2, .wire = GetParam()});
  Mutex mutex;
  std::multiset<int> all;
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    if (trainer == 0) FL_RETURN_IF_ERROR(client.DealShares(200, {}));
    FL_RETURN_IF_ERROR(client.Barrier("dealt"));
    std::vector<std::jthread> workers;
    std::vector<Status> ended(3);
    for (Status& status : ended) {
      workers.emplace_back([&] {
        std::vector<int> taken;
        status = TakeAll(client, {}, 1000, &taken);
        MutexLock lock(mutex);
        all.insert(taken.begin(), taken.end());
      });
    }
    workers.clear();
    for (const Status& status : ended) FL_RETURN_IF_ERROR(status);
    return client.Barrier("end");
  }));
  EXPECT_EQ(all.size(), 200u);
  EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 200u);
  ASSERT_OK(cluster.StopAll());
}

TEST_P(SharesTest, NumbersThatCannotBeAreErrors) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.servers = 1, .trainers = 1, .wire = GetParam()});
  ASSERT_OK(cluster.RunTrainers([&](int, PsClient& client) -> Status {
    EXPECT_TRUE(absl::IsInvalidArgument(client.DealShares(1 << 30, {})));
    EXPECT_TRUE(absl::IsInvalidArgument(client.DealShares(3, std::vector<int>{3})));
    EXPECT_EQ(client.TakeShare({}, true).value(), std::nullopt);
    EXPECT_EQ(client.TakeShare(std::vector<int>{0, 1, 2}, true).value(), std::nullopt);
    return absl::OkStatus();
  }));
  ASSERT_OK(cluster.StopAll());
}

}  // namespace
}  // namespace flotilla
