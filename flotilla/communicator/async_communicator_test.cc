#include "flotilla/communicator/async_communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "flotilla/communicator/mode_testing.h"
#include "flotilla/optim/adagrad.h"
#include "flotilla/optim/momentum.h"

namespace flotilla {
namespace {

bool Prefetches(const Communicator& communicator) {
  return communicator.schedule().ahead == Schedule::Ahead::kPull;
}

// The first dense number at the servers after two gradients of -1 that travel together.
float AfterTwoMerged(const OptimizerSpec& optimizer, MergeRule rule) {
  ModelSpec spec = CountingSpec();
  spec.optimizer = optimizer;
  InProcessCluster cluster(spec, {.servers = 2});
  ModeOptions mode{.mode = "async"};
  mode.async = {.max_merge = 2, .merge_wait_ms = 60'000, .merge_rule = rule};
  const Status status = RunModes(cluster, mode, [](int, Communicator& communicator) -> Status {
    for (int i = 0; i < 2; ++i) {
      Gradients gradients = Count(communicator.spec(), {7});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    FL_RETURN_IF_ERROR(communicator.Flush());
    EXPECT_EQ(communicator.global_step(), 2) << "batches, not pushes";
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  AlignedVector<float> dense(static_cast<size_t>(cluster.client(0).layout().size()));
  EXPECT_TRUE(cluster.client(0).PullDense(dense).ok());
  return dense[0];
}

TEST(AsyncCommunicatorTest, TheMergeRuleFollowsFromTheOptimizer) {
  EXPECT_EQ(AfterTwoMerged(Sgd(1), MergeRule::kByOptimizer), 2);
  EXPECT_EQ(AfterTwoMerged(Sgd(1), MergeRule::kAverage), 1);
  EXPECT_EQ(AfterTwoMerged(Momentum(1), MergeRule::kByOptimizer), 2);
  // Adagrad divides a first gradient g by |g| + epsilon.
  const float mean = AfterTwoMerged(Adagrad(1, {.epsilon = 1}), MergeRule::kByOptimizer);
  EXPECT_NEAR(mean, 0.5, 1e-6) << "1 / (1 + 1)";
  const float sum = AfterTwoMerged(Adagrad(1, {.epsilon = 1}), MergeRule::kSum);
  EXPECT_NEAR(sum, 2.0 / 3, 1e-6) << "2 / (2 + 1)";
}

// Pushes once, and waits without Flush until the copy of the dense parameters includes it.
void ExpectRefreshed(const AsyncOptions& options) {
  InProcessCluster cluster(CountingSpec(), {.servers = 2});
  ModeOptions mode{.mode = "async"};
  mode.async = options;
  ASSERT_OK(RunModes(cluster, mode, [](int, Communicator& communicator) -> Status {
    Gradients gradients = Count(communicator.spec(), {7});
    FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    const volatile float* first = communicator.dense().data();
    const volatile float* last = communicator.dense().data() + 4;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((*first != 1 || *last != 1) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(*first, 1);
    EXPECT_EQ(*last, 1);
    return communicator.Flush();
  }));
}

TEST(AsyncCommunicatorTest, DenseParametersComeBackWithThePush) { ExpectRefreshed({}); }

TEST(AsyncCommunicatorTest, AThreadOfItsOwnReceivesWhenAsked) {
  ExpectRefreshed({.independent_receive = true});
}

TEST(AsyncCommunicatorTest, TheyAreRenewedAfterSoManySends) {
  InProcessCluster cluster(CountingSpec(), {});
  ModeOptions mode{.mode = "async"};
  mode.async = {.max_merge = 1, .sends_per_refresh = 3, .max_staleness = 0};
  ASSERT_OK(RunModes(cluster, mode, [](int, Communicator& communicator) -> Status {
    std::vector<SparseRows> rows(2);
    std::vector<float> seen;
    for (int step = 0; step < 7; ++step) {
      Gradients gradients = Count(communicator.spec(), {7});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
      // Returns when the push is applied and its answer taken.
      FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kDefault, rows));
      seen.push_back(communicator.dense()[0]);
    }
    EXPECT_EQ(seen, (std::vector<float>{0, 0, 3, 3, 3, 6, 6}));
    FL_RETURN_IF_ERROR(communicator.Flush());
    EXPECT_EQ(communicator.dense()[0], 7);
    return absl::OkStatus();
  }));
}

TEST(AsyncCommunicatorTest, InTurnsAStepHasEverythingThatWasBeforeIt) {
  auto turns = Turns::Make(1);
  ASSERT_OK(turns.status());
  InProcessCluster cluster(CountingSpec(), {.servers = 2, .trainers = 3});
  ModeOptions mode{.mode = "async"};
  mode.async.turns = *std::move(turns);
  std::atomic<int> steps = 0;
  ASSERT_OK(RunModes(cluster, mode, [&](int, Communicator& communicator) -> Status {
    EXPECT_FALSE(Prefetches(communicator));
    std::vector<SparseRows> rows(2);
    for (int step = 0; step < 30; ++step) {
      rows[0].ids = {7};
      FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kCreate, rows));
      const auto before = static_cast<float>(steps++);
      EXPECT_EQ(communicator.dense()[0], before);
      EXPECT_EQ(rows[0].values[0], before);
      Gradients gradients = Count(communicator.spec(), {7});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
      // An evaluation between two steps has no turn to give up.
      FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kDefault, rows));
    }
    return communicator.Flush();
  }));
  EXPECT_EQ(steps, 3 * 30);
}

TEST(AsyncCommunicatorTest, ABoundThatIsSetNeedsNoTurns) {
  auto turns = Turns::Make(1);
  ASSERT_OK(turns.status());
  InProcessCluster cluster(CountingSpec(), {.trainers = 2});
  ModeOptions mode{.mode = "async"};
  mode.async.turns = *std::move(turns);
  mode.async.max_staleness = 3;
  ASSERT_OK(RunModes(cluster, mode, [&](int, Communicator& communicator) -> Status {
    EXPECT_TRUE(Prefetches(communicator));
    return communicator.Flush();
  }));
}

TEST(AsyncCommunicatorTest, RowsLackNoMoreThanTheAllowedSteps) {
  for (const int64_t bound : {0, 1, 3}) {
    InProcessCluster cluster(CountingSpec(), {.servers = 2});
    ModeOptions mode{.mode = "async"};
    mode.async = {.max_merge = 2, .max_staleness = bound};
    ASSERT_OK(RunModes(cluster, mode, [&](int, Communicator& communicator) -> Status {
      EXPECT_EQ(Prefetches(communicator), bound > 0);
      std::vector<SparseRows> rows(2);
      rows[0].ids = {7};
      for (int step = 0; step < 50; ++step) {
        // Prefetched while step - 1 is computed; with no bound for it, after it was pushed.
        if (bound > 0 && step > 0) {
          FL_ASSIGN_OR_RETURN(auto pull, communicator.StartPull(0, Missing::kCreate, rows));
          Gradients before = Count(communicator.spec(), {7});
          FL_RETURN_IF_ERROR(communicator.Push(0, before));
          FL_RETURN_IF_ERROR(pull.Wait());
        } else {
          if (step > 0) {
            Gradients before = Count(communicator.spec(), {7});
            FL_RETURN_IF_ERROR(communicator.Push(0, before));
          }
          FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kCreate, rows));
        }
        EXPECT_GE(rows[0].values[0], static_cast<float>(step - bound)) << "step " << step;
      }
      return communicator.Flush();
    }));
  }
}

TEST(AsyncCommunicatorTest, WithoutCommunicationNothingChanges) {
  InProcessCluster cluster(CountingSpec(), {});
  ModeOptions mode{.mode = "async"};
  mode.async.fake_rpc = true;
  ASSERT_OK(RunModes(cluster, mode, [](int, Communicator& communicator) -> Status {
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());
    std::vector<SparseRows> rows(2);
    rows[0].ids = {7, 8};
    FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kCreate, rows));
    EXPECT_EQ(rows[0].values.size(), 6u);
    FL_ASSIGN_OR_RETURN(auto pull, communicator.StartPull(0, Missing::kCreate, rows));
    FL_RETURN_IF_ERROR(pull.Wait());
    Gradients gradients = Count(communicator.spec(), {7, 8});
    FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    FL_RETURN_IF_ERROR(communicator.Flush());
    EXPECT_EQ(communicator.dense()[0], 0);
    return absl::OkStatus();
  }));
  EXPECT_EQ(cluster.server(0).service().global_step(), 0);
}

}  // namespace
}  // namespace flotilla
