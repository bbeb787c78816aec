// Every push counts exactly once: at the end of a job the servers have exactly the sum of what the
// trainers pushed, even if answers are lost and requests arrive twice.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "flotilla/communicator/mode_testing.h"

namespace flotilla {
namespace {

constexpr int kSteps = 12;
constexpr int kWorkers = 2;  // of a trainer in modes with free workers
constexpr uint64_t kIds = 40;

struct Case {
  std::string mode;
  int servers = 1;
  int trainers = 1;
  Wire wire = Wire::kInproc;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.mode; }

std::string NameOfCase(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.mode;
  std::erase(name, '-');
  return fmt::format("{}_{}x{}_{}", name, info.param.servers, info.param.trainers,
                     NameOf(info.param.wire));
}

// The ids that a step touches: some in every step, some in few.
std::vector<uint64_t> IdsOf(int trainer, int worker, int step) {
  std::vector<uint64_t> ids = {0, 1 + static_cast<uint64_t>(trainer)};
  const auto place = static_cast<uint64_t>(31 * trainer + 17 * worker + 7 * step);
  for (uint64_t i = 0; i < 3; ++i) ids.push_back(10 + (place + 11 * i) % kIds);
  return ids;
}

// Some of one worker's steps.
Status PushSteps(int trainer, int worker, int first, int end, Communicator& communicator) {
  std::vector<SparseRows> rows(communicator.spec().tables.size());
  for (int step = first; step < end; ++step) {
    for (SparseRows& table : rows) table.ids = IdsOf(trainer, worker, step);
    FL_RETURN_IF_ERROR(communicator.Pull(worker, Missing::kCreate, rows));
    Gradients gradients = Count(communicator.spec(), IdsOf(trainer, worker, step));
    FL_RETURN_IF_ERROR(communicator.Push(worker, gradients));
  }
  return absl::OkStatus();
}

// Runs all steps twice, in epochs of a given length, in one trainer with all its workers.
Status TrainAll(int trainer, int workers, int epoch_steps, Communicator& communicator) {
  for (int epoch = 0; epoch < 2 * kSteps / epoch_steps; ++epoch) {
    const int first = epoch * epoch_steps % kSteps;
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());
    std::vector<Status> results(workers);
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w) {
      threads.emplace_back(
          [&, w] { results[w] = PushSteps(trainer, w, first, first + epoch_steps, communicator); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) FL_RETURN_IF_ERROR(result);
    FL_RETURN_IF_ERROR(communicator.Flush());
  }
  return absl::OkStatus();
}

class ModeCountingTest : public ::testing::TestWithParam<Case> {
 protected:
  int workers() const { return GetParam().mode == "async" ? kWorkers : 1; }

  void Run(std::optional<FaultOptions> faults) {
    const Case& c = GetParam();
    ClusterOptions options{.servers = c.servers,
                           .trainers = c.trainers,
                           .wire = c.wire,
                           .policy = GetMode(c.mode).policy,
                           .faults = faults};
    options.client.retry = {.retry_times = 20, .first_backoff_ms = 1, .max_backoff_ms = 5};
    InProcessCluster cluster(CountingSpec(), options);
    ModeOptions mode{.mode = c.mode};
    // Only one thread at a time changes a copy of the model here, because Hogwild may lose
    // concurrent updates: one worker, and exchanges only at the ends of short epochs.
    mode.geo.interval.push_nums = kSteps;
    const int epoch_steps = c.mode == "geo" ? 2 : kSteps;
    mode.geo.divisor = GeoDivisor::kNone;  // divided updates could not be counted
    ASSERT_OK(RunModes(cluster, mode, [&](int trainer, Communicator& communicator) {
      return TrainAll(trainer, workers(), epoch_steps, communicator);
    }));
    if (faults.has_value()) {
      EXPECT_GT(cluster.lost_replies(), 0);
    }
    Check(cluster.client(0));
    EXPECT_EQ(cluster.server(0).service().global_step(), ExpectedSteps());
    ASSERT_OK(cluster.StopAll());
  }

  // In sync a round is one step.
  int64_t ExpectedSteps() const {
    const bool sync = GetParam().mode == "sync";
    return int64_t{2} * kSteps * workers() * (sync ? 1 : GetParam().trainers);
  }

  // In sync a round counts once, as the mean over its trainers.
  void Check(PsClient& client) {
    const int trainers = GetParam().trainers;
    const bool sync = GetParam().mode == "sync";
    const float share = sync ? 1.0f / static_cast<float>(trainers) : 1;
    std::map<uint64_t, float> expected;
    for (int t = 0; t < trainers; ++t) {
      for (int w = 0; w < workers(); ++w) {
        for (int step = 0; step < kSteps; ++step) {
          for (uint64_t id : IdsOf(t, w, step)) expected[id] += 2 * share;
        }
      }
    }
    const auto steps = static_cast<float>(ExpectedSteps());
    AlignedVector<float> dense(static_cast<size_t>(client.layout().size()));
    ASSERT_OK(client.PullDense(dense));
    for (int p = 0; p < client.layout().parameters(); ++p) {
      EXPECT_EQ(dense[client.layout().offset(p)], steps);
      EXPECT_EQ(dense[client.layout().offset(p) + client.layout().length(p) - 1], steps);
    }
    for (int table = 0; table < 2; ++table) {
      const auto rows = client.ReadTable(table);
      ASSERT_TRUE(rows.ok()) << rows.status();
      std::map<uint64_t, float> found;
      for (size_t i = 0; i < rows->size(); ++i) found[rows->ids[i]] = rows->row(i)[0];
      EXPECT_EQ(found, expected) << "table " << table;
    }
  }
};

TEST_P(ModeCountingTest, WhatWasPushedIsWhatTheServersHave) { Run(std::nullopt); }

TEST_P(ModeCountingTest, LostAnswersAndRepeatedRequestsChangeNothing) {
  Run(FaultOptions{.seed = 3,
                   .lose_reply = 0.15,
                   .lose_request = 0.1,
                   .send_twice = 0.1,
                   .delay = 0.05,
                   .max_delay_ms = 2});
}

INSTANTIATE_TEST_SUITE_P(
    Modes, ModeCountingTest,
    ::testing::Values(Case{"sync", 1, 1}, Case{"sync", 2, 2}, Case{"sync", 3, 4},
                      Case{"half-async", 1, 1}, Case{"half-async", 2, 2}, Case{"half-async", 3, 4},
                      Case{"async", 1, 1}, Case{"async", 2, 2}, Case{"async", 3, 4},
                      Case{"geo", 1, 1}, Case{"geo", 2, 2}, Case{"geo", 3, 4},
                      Case{"sync", 2, 2, Wire::kTcp}, Case{"half-async", 2, 2, Wire::kTcp},
                      Case{"async", 2, 2, Wire::kTcp}, Case{"geo", 2, 2, Wire::kTcp}),
    NameOfCase);

TEST(GeoCountingTest, WorkersOfOneTrainerShareTheLocalCopy) {
  // Rows that only one worker touches: concurrent workers lose nothing.
  InProcessCluster cluster(CountingSpec(),
                           {.servers = 2, .trainers = 2, .policy = UpdatePolicy::kAddDelta});
  ModeOptions mode{.mode = "geo"};
  mode.geo.interval.push_nums = 3;
  mode.geo.divisor = GeoDivisor::kNone;
  ASSERT_OK(RunModes(cluster, mode, [](int trainer, Communicator& communicator) -> Status {
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());
    std::vector<std::thread> threads;
    std::vector<Status> results(3);
    for (int w = 0; w < 3; ++w) {
      threads.emplace_back([&, w] {
        const auto id = static_cast<uint64_t>(100 * trainer + w);
        for (int step = 0; step < 50 && results[w].ok(); ++step) {
          Gradients gradients = Count(communicator.spec(), {id});
          results[w] = communicator.Push(w, gradients);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) FL_RETURN_IF_ERROR(result);
    FL_RETURN_IF_ERROR(communicator.Flush());
    // All trainers end with the same model.
    std::vector<SparseRows> rows(2);
    rows[0].ids = {0, 1, 2, 100, 101, 102};
    FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kDefault, rows));
    for (float value : rows[0].values) EXPECT_EQ(value, 50);
    EXPECT_EQ(communicator.dense()[0], 300);
    EXPECT_EQ(communicator.global_step(), 300) << "150 batches here, times two trainers";
    return absl::OkStatus();
  }));
  const auto rows = cluster.client(0).ReadTable(0);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{0, 1, 2, 100, 101, 102}));
  for (float value : rows->values) EXPECT_EQ(value, 50);
}

TEST(GeoCountingTest, TheDivisorOfTheSeedsIsTheNumberOfTrainers) {
  InProcessCluster cluster(CountingSpec(), {.trainers = 2, .policy = UpdatePolicy::kAddDelta});
  ModeOptions mode{.mode = "geo"};
  mode.geo.divisor = GeoDivisor::kTrainers;
  mode.geo.interval.push_nums = 1000;  // only Flush exchanges
  ASSERT_OK(RunModes(cluster, mode, [](int trainer, Communicator& communicator) -> Status {
    for (int step = 0; step < 4; ++step) {
      Gradients gradients = Count(communicator.spec(), {static_cast<uint64_t>(trainer), 7});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    return communicator.Flush();
  }));
  const auto rows = cluster.client(0).ReadTable(0);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{0, 1, 7}));
  EXPECT_EQ(rows->row(0)[0], 2) << "one trainer alone: half of it";
  EXPECT_EQ(rows->row(2)[0], 4) << "the mean of two that learned the same";
}

TEST(GeoCountingTest, ATrainerThatComesLaterTakesOverWhatTheServersHave) {
  InProcessCluster cluster(CountingSpec(), {.trainers = 1, .policy = UpdatePolicy::kAddDelta});
  const ModeOptions mode{.mode = "geo"};
  const auto train = [](int, Communicator& communicator) -> Status {
    Gradients gradients = Count(communicator.spec(), {5});
    FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    return communicator.Flush();
  };
  ASSERT_OK(RunModes(cluster, mode, train));
  ASSERT_OK(RunModes(cluster, mode, [&](int trainer, Communicator& communicator) -> Status {
    EXPECT_EQ(communicator.dense()[0], 1);
    return train(trainer, communicator);
  }));
  const auto rows = cluster.client(0).ReadTable(0);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->row(0)[0], 2);
}

}  // namespace
}  // namespace flotilla
