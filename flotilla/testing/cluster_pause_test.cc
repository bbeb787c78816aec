// Pauses that a trainer asks all trainers for.
#include <thread>

#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using PauseTest = ClusterTest;
FL_ON_EVERY_WIRE(PauseTest);

ClusterOptions QuickPings(Wire wire) {
  ClusterOptions options{.servers = 2, .trainers = 3, .wire = wire};
  options.client.heartbeat.interval_ms = 5;
  return options;
}

void WaitForPauses(const PsClient& client, uint64_t pauses) {
  while (client.pauses_asked() < pauses && client.status().ok()) std::this_thread::yield();
}

TEST_P(PauseTest, ReachesEveryTrainerByItsPings) {
  InProcessCluster cluster(CountingModel({}, {1}), QuickPings(GetParam()));
  ASSERT_OK(cluster.RunTrainers([](int trainer, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.Barrier("start"));
    for (uint64_t taken = 0; taken < 5; ++taken) {
      // All of them ask for the same pause, one of them twice.
      FL_RETURN_IF_ERROR(client.AskPause(taken));
      if (trainer == 1) FL_RETURN_IF_ERROR(client.AskPause(taken));
      WaitForPauses(client, taken + 1);
      FL_RETURN_IF_ERROR(client.Barrier("asked"));
      if (client.pauses_asked() != taken + 1) return Internal("{} pauses", client.pauses_asked());
      FL_RETURN_IF_ERROR(client.Barrier("seen"));
    }
    return absl::OkStatus();
  }));
  ASSERT_OK(cluster.StopAll());
}

TEST_P(PauseTest, TrainersInRoundsLearnOfItWithTheSameRound) {
  ClusterOptions options = QuickPings(GetParam());
  options.policy = UpdatePolicy::kOnBarrier;
  InProcessCluster cluster(CountingModel({9000}, {2}), options);
  constexpr int kRounds = 60;
  std::vector<std::vector<uint64_t>> seen(3);  // by trainer: after each round
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) -> Status {
    FL_RETURN_IF_ERROR(client.EnterRounds());
    for (int round = 0; round < kRounds; ++round) {
      if (trainer == round % 3) FL_RETURN_IF_ERROR(client.AskPause(client.pauses_in_rounds()));
      FL_RETURN_IF_ERROR(PushOnes(client, PushKind::kInRound, 1, 1));
      seen[trainer].push_back(client.pauses_in_rounds());
    }
    return client.LeaveRounds();
  }));
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[2], seen[0]);
  // The trainer asked before its own push into that round.
  EXPECT_EQ(seen[0].back(), static_cast<uint64_t>(kRounds));
}

}  // namespace
}  // namespace flotilla
