#include "flotilla/communicator/geo_communicator.h"

#include <cmath>

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "flotilla/base/mutex.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/communicator/mode_testing.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/rpc/codec.h"

namespace flotilla {
namespace {

ClusterOptions Geo(int servers, int trainers) {
  return {.servers = servers, .trainers = trainers, .policy = UpdatePolicy::kAddDelta};
}

// Only Flush exchanges, unless a test changes that.
ModeOptions GeoMode() {
  ModeOptions mode{.mode = "geo"};
  mode.geo.interval.push_nums = 1'000'000;
  return mode;
}

float RowAtServers(PsClient& client, int table, uint64_t id) {
  const auto rows = client.ReadTable(table);
  EXPECT_TRUE(rows.ok()) << rows.status();
  for (size_t i = 0; i < rows->size(); ++i) {
    if (rows->ids[i] == id) return rows->row(i)[0];
  }
  return -1;
}

Status WaitForExchanges(Communicator& communicator, int64_t exchanges) {
  const auto& geo = dynamic_cast<GeoCommunicator&>(communicator);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (geo.exchanges() < exchanges) {
    if (std::chrono::steady_clock::now() > deadline) return absl::DeadlineExceededError("exchange");
    std::this_thread::yield();
  }
  return absl::OkStatus();
}

TEST(GeoCommunicatorTest, FrequentRowsAreExchangedMoreOftenThanRareOnes) {
  InProcessCluster cluster(CountingSpec(), Geo(1, 1));
  ModeOptions mode = GeoMode();
  mode.geo.interval.push_nums = 2;
  mode.geo.frequent_touches = 2;
  mode.geo.rare_exchanges = 1000;
  ASSERT_OK(RunModes(cluster, mode, [&](int, Communicator& communicator) -> Status {
    for (const uint64_t rare : {100, 200}) {
      Gradients gradients = Count(communicator.spec(), {1, rare});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    FL_RETURN_IF_ERROR(WaitForExchanges(communicator, 1));
    EXPECT_EQ(RowAtServers(cluster.client(0), 0, 1), 2);
    EXPECT_EQ(RowAtServers(cluster.client(0), 0, 100), -1) << "touched once: not sent yet";
    FL_RETURN_IF_ERROR(communicator.Flush());
    EXPECT_EQ(RowAtServers(cluster.client(0), 0, 100), 1);
    EXPECT_EQ(RowAtServers(cluster.client(0), 0, 1), 2) << "once";
    return absl::OkStatus();
  }));
}

TEST(GeoCommunicatorTest, WhatIsFrequentCanDifferByTable) {
  InProcessCluster cluster(CountingSpec(), Geo(1, 1));
  ModeOptions mode = GeoMode();
  mode.geo.interval.push_nums = 3;
  mode.geo.frequent_touches = 2;
  mode.geo.table_touches = {{"bias", 4}};
  mode.geo.rare_exchanges = 1000;
  ASSERT_OK(RunModes(cluster, mode, [&](int, Communicator& communicator) -> Status {
    for (int i = 0; i < 3; ++i) {
      Gradients gradients = Count(communicator.spec(), {1});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    FL_RETURN_IF_ERROR(WaitForExchanges(communicator, 1));
    EXPECT_EQ(RowAtServers(cluster.client(0), 0, 1), 3);
    EXPECT_EQ(RowAtServers(cluster.client(0), 1, 1), -1) << "of this table it takes four";
    FL_RETURN_IF_ERROR(communicator.Flush());
    EXPECT_EQ(RowAtServers(cluster.client(0), 1, 1), 3);
    return absl::OkStatus();
  }));
}

TEST(GeoCommunicatorTest, TouchesOfATableThatTheModelHasNotAreAnError) {
  InProcessCluster cluster(CountingSpec(), Geo(1, 1));
  ModeOptions mode = GeoMode();
  mode.geo.table_touches = {{"embb", 4}};
  EXPECT_EQ(Message(RunModes(cluster, mode, [](int, Communicator&) { return absl::OkStatus(); })),
            "trainer 0: geo: table_touches names embb, which is not a table of the model");
}

TEST(GeoCommunicatorTest, StatisticsAreAveragedOverTheTrainers) {
  ModelSpec spec = CountingSpec();
  spec.parameters[0].moving_average_keep = 0.5;
  InProcessCluster cluster(spec, Geo(1, 2));
  ASSERT_OK(RunModes(cluster, GeoMode(), [](int trainer, Communicator& communicator) -> Status {
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());  // both start from the same values
    Gradients gradients = Count(communicator.spec(), {1});
    // The batch statistics are 4 and 8; the moving average takes half of each.
    gradients.dense[0] = trainer == 0 ? 4.0f : 8.0f;
    FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    return communicator.Flush();
  }));
  AlignedVector<float> dense(static_cast<size_t>(cluster.client(0).layout().size()));
  ASSERT_OK(cluster.client(0).PullDense(dense));
  EXPECT_EQ(dense[0], 3) << "the mean of 2 and 4";
}

TEST(GeoCommunicatorTest, WhatSeveralTrainersLearnIsDividedByTheirNumber) {
  InProcessCluster cluster(CountingSpec(), Geo(2, 2));
  ModeOptions mode = GeoMode();
  mode.geo.interval.push_nums = 1000;  // with Flush alone
  ASSERT_OK(RunModes(cluster, mode, [](int trainer, Communicator& communicator) -> Status {
    for (int step = 0; step < 8; ++step) {
      Gradients gradients = Count(communicator.spec(), {static_cast<uint64_t>(trainer), 10});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    FL_RETURN_IF_ERROR(communicator.Flush());
    EXPECT_EQ(communicator.dense()[0], 8) << "the mean";
    return absl::OkStatus();
  }));
  AlignedVector<float> dense(static_cast<size_t>(cluster.client(0).layout().size()));
  ASSERT_OK(cluster.client(0).PullDense(dense));
  EXPECT_EQ(dense[0], 8);
  EXPECT_EQ(dense.back(), 8);
  EXPECT_NEAR(RowAtServers(cluster.client(0), 0, 10), 16 / std::sqrt(2), 0.01);
}

TEST(GeoCommunicatorTest, ARowThatOneTrainerTouchesCountsInFull) {
  InProcessCluster cluster(CountingSpec(), Geo(2, 2));
  ASSERT_OK(RunModes(cluster, GeoMode(), [](int trainer, Communicator& communicator) -> Status {
    for (int step = 0; step < 2; ++step) {
      Gradients gradients = Count(communicator.spec(), {static_cast<uint64_t>(trainer)});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    return communicator.Flush();
  }));
  EXPECT_EQ(RowAtServers(cluster.client(0), 0, 0), 2);
  EXPECT_EQ(RowAtServers(cluster.client(0), 0, 1), 2);
}

TEST(GeoCommunicatorTest, SchedulesCountTheBatchesOfAllTrainers) {
  ModelSpec spec = CountingSpec();
  spec.optimizer = Sgd(PiecewiseDecay({4}, {1, 0.5}));
  InProcessCluster cluster(spec, Geo(1, 2));
  ModeOptions mode = GeoMode();
  mode.geo.divisor = GeoDivisor::kNone;
  ASSERT_OK(RunModes(cluster, mode, [](int, Communicator& communicator) -> Status {
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());  // both start from the same values
    std::vector<double> rates;
    for (int step = 0; step < 4; ++step) {
      rates.push_back(communicator.learning_rate());
      Gradients gradients = Count(communicator.spec(), {1});
      FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
    }
    EXPECT_EQ(rates, (std::vector<double>{1, 1, 0.5, 0.5})) << "two steps for each batch";
    EXPECT_EQ(communicator.global_step(), 8);
    EXPECT_EQ(communicator.dense()[0], 3);
    return communicator.Flush();
  }));
}

// Epoch by epoch, how many steps each of three trainers makes.
TEST(GeoCommunicatorTest, TrainersWithoutDataAreNotCounted) {
  const int steps[3][3] = {{8, 0, 0}, {4, 2, 0}, {0, 0, 3}};
  for (const GeoDivisor divisor :
       {GeoDivisor::kTouched, GeoDivisor::kTrainers, GeoDivisor::kNone}) {
    InProcessCluster cluster(CountingSpec(), Geo(1, 3));
    ModeOptions mode = GeoMode();
    mode.geo.divisor = divisor;
    ASSERT_OK(RunModes(cluster, mode, [&](int trainer, Communicator& communicator) -> Status {
      for (int epoch = 0; epoch < 3; ++epoch) {
        const int own = steps[epoch][trainer];
        FL_RETURN_IF_ERROR(communicator.BeginEpoch({.has_batch = own > 0}));
        const int64_t before = communicator.global_step();
        for (int step = 0; step < own; ++step) {
          Gradients gradients = Count(communicator.spec(), {static_cast<uint64_t>(trainer)});
          FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
        }
        const int trainers = epoch == 1 ? 2 : 1;
        EXPECT_EQ(communicator.global_step(), before + own * trainers) << "epoch " << epoch;
        FL_RETURN_IF_ERROR(communicator.Flush());
        if (epoch == 0) {
          EXPECT_EQ(communicator.dense()[0], 8) << "nothing is divided";
        }
        EXPECT_EQ(communicator.global_step(), epoch == 0 ? 8 : epoch == 1 ? 14 : 17);
      }
      return absl::OkStatus();
    }));
    AlignedVector<float> dense(static_cast<size_t>(cluster.client(0).layout().size()));
    ASSERT_OK(cluster.client(0).PullDense(dense));
    // With kTrainers the rest of an epoch is sent in the next one, undivided if only one has data.
    EXPECT_EQ(dense[0], divisor == GeoDivisor::kTouched ? 8 + 3 + 3 : 8 + 6 + 3);
    EXPECT_EQ(RowAtServers(cluster.client(0), 0, 2), 3);
  }
}

TEST(GeoCommunicatorTest, StepsInPlaceAreExchangedToo) {
  ModelSpec spec = CountingSpec();
  spec.parameters.clear();
  for (TableSpec& table : spec.tables) table.rows = 50;
  InProcessCluster cluster(spec, Geo(2, 2));
  ModeOptions mode = GeoMode();
  mode.geo.interval.push_nums = 3;
  mode.geo.divisor = GeoDivisor::kNone;
  mode.geo.tables.in_order = true;
  ASSERT_OK(RunModes(cluster, mode, [](int trainer, Communicator& communicator) -> Status {
    TablesInPlace* in_place = communicator.tables_in_place();
    EXPECT_TRUE(in_place->wants_touched());
    const std::vector<uint32_t> ids = {static_cast<uint32_t>(trainer), 10};
    for (int step = 0; step < 20; ++step) {
      FL_ASSIGN_OR_RETURN(TablesInPlace::Work work, in_place->Begin(0));
      // Row 10 changes in both trainers; the exchange adds to it concurrently with this worker.
      for (const uint32_t id : ids) {
        for (int d = 0; d < 3; ++d) work.tables[0].row(id)[d] += 1;
      }
      const std::vector<std::vector<uint32_t>> touched = {ids, {}};
      FL_RETURN_IF_ERROR(in_place->End(0, std::move(work), touched));
    }
    return communicator.Flush();
  }));
  EXPECT_EQ(RowAtServers(cluster.client(0), 0, 0), 20);
  EXPECT_EQ(RowAtServers(cluster.client(0), 0, 1), 20);
  // Hogwild: an addition may be lost in the instant of an update.
  EXPECT_NEAR(RowAtServers(cluster.client(0), 0, 10), 40, 2);
}

TEST(GeoCommunicatorTest, AModelThatTrainerZeroLoadsIsWhereAllGoOn) {
  const TempDir dir;
  const std::string model = dir.path() + "/model";
  ModelSpec spec = CountingSpec();
  for (TableSpec& table : spec.tables) table.attributes.init = Uniform(-1, 1);
  {
    InProcessCluster cluster(spec, Geo(1, 1));
    ASSERT_OK(RunModes(cluster, GeoMode(), [&](int, Communicator& communicator) -> Status {
      FL_RETURN_IF_ERROR(communicator.BeginEpoch());
      for (int step = 0; step < 5; ++step) {
        Gradients gradients = Count(communicator.spec(), {3});
        FL_RETURN_IF_ERROR(communicator.Push(0, gradients));
      }
      FL_ASSIGN_OR_RETURN(auto save, communicator.BeginSave({}));
      EXPECT_EQ(save->global_step(), 5) << "what was learned here was sent first";
      return save->Write(model, {});
    }));
  }
  ModelSpec other = spec;
  other.seed = 77;
  InProcessCluster cluster(other, Geo(2, 2));
  ASSERT_OK(cluster.ConnectAll());
  std::vector<std::vector<float>> seen(2);
  ASSERT_OK(RunModes(cluster, GeoMode(), [&](int trainer, Communicator& communicator) -> Status {
    // No trainer reads while the servers load.
    FL_RETURN_IF_ERROR(cluster.client(trainer).Barrier("made"));
    if (trainer == 0) {
      FL_ASSIGN_OR_RETURN(const LoadedModel loaded, communicator.Load(model, {}));
      EXPECT_EQ(loaded.step, 5);
    }
    FL_RETURN_IF_ERROR(communicator.BeginEpoch());
    EXPECT_EQ(communicator.global_step(), 5);
    EXPECT_EQ(communicator.dense()[0], 5);
    // A row of the model, and one that does not exist yet: both as the seed of the saved model
    // gives.
    std::vector<SparseRows> rows(2);
    rows[0].ids = {3, 4};
    FL_RETURN_IF_ERROR(communicator.Pull(0, Missing::kDefault, rows));
    seen[trainer].assign(rows[0].values.begin(), rows[0].values.end());
    return communicator.Flush();
  }));
  EXPECT_EQ(seen[0], seen[1]);
  std::vector<SparseRows> rows(2);
  rows[0].ids = {3, 4};
  ASSERT_OK(cluster.client(0).Pull(Missing::kDefault, rows));
  EXPECT_EQ(seen[0], std::vector<float>(rows[0].values.begin(), rows[0].values.end()));
}

// The server has rows that are out of the bounds of this trainer's tables.
TEST(GeoExchangeTest, IdsThatAServerMustNotSendAreAnError) {
  ModelSpec spec = CountingSpec();
  for (TableSpec& table : spec.tables) table.rows = 1000;
  InProcessCluster cluster(spec, Geo(1, 2));
  ASSERT_OK(cluster.ConnectAll());
  std::vector<SparseRows> rows;
  for (const TableSpec& table : spec.tables) rows.push_back(RowsOf({5, 900}, table.dim, 1));
  ASSERT_OK(cluster.client(0).Push({.kind = PushKind::kDelta, .sparse = rows}));
  for (TableSpec& table : spec.tables) table.rows = 10;
  const auto local = *LocalCommunicator::Make(spec, {});
  const auto exchange = *GeoExchange::Make(&cluster.client(1), local.get(), GeoDivisor::kTouched);
  EXPECT_EQ(Message(exchange->TakeDirty()),
            fmt::format("table {}: id 900 is not below its 10 rows", spec.tables[0].name));
}

// Answers to pushes are held back until the test releases them.
class HoldingTransport : public Transport {
 public:
  explicit HoldingTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}
  int servers() const override { return inner_->servers(); }
  const std::string& address(int server) const override { return inner_->address(server); }
  void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) override {
    const bool push = DecodeRequest(request)->head.method() == wire::METHOD_PUSH;
    inner_->Call(server, std::move(request), timeout_ms,
                 [this, push, done = std::move(done)](StatusOr<Payload> reply) {
                   if (!push || !Hold([=] { done(reply); })) done(reply);
                 });
  }
  void Close() override { inner_->Close(); }

  // Whether this number of answers is held, now or soon.
  bool Holds(size_t answers) {
    MutexLock lock(mutex_);
    return changed_.wait_for(mutex_, std::chrono::seconds(20),
                             [&]() FL_REQUIRES(mutex_) { return held_.size() == answers; });
  }
  void LetGo() {
    std::vector<std::function<void()>> held;
    {
      MutexLock lock(mutex_);
      let_go_ = true;
      held.swap(held_);
    }
    for (const auto& answer : held) answer();
  }

 private:
  bool Hold(std::function<void()> answer) {
    MutexLock lock(mutex_);
    if (let_go_) return false;
    held_.push_back(std::move(answer));
    changed_.notify_all();
    return true;
  }

  const std::unique_ptr<Transport> inner_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::function<void()>> held_ FL_GUARDED_BY(mutex_);
  bool let_go_ FL_GUARDED_BY(mutex_) = false;
};

TEST(GeoExchangeTest, AsManyPushesAsToldAreUnderWayAtOnce) {
  constexpr int kPushes = 3;
  const ModelSpec spec = CountingSpec();
  InProcessCluster cluster(spec, Geo(1, 1));
  auto transport = std::make_unique<HoldingTransport>(cluster.MakeTransport(0));
  HoldingTransport& holding = *transport;
  const SteadyClock clock;
  PsClientOptions options = PatientClient();
  options.job_id = "test";
  PsClient client(spec, options, std::move(transport), &clock, {});
  ASSERT_OK(client.WaitForServers(60'000));
  const auto local = *LocalCommunicator::Make(spec, {});
  const auto exchange = *GeoExchange::Make(&client, local.get(), GeoDivisor::kTouched, kPushes);
  // Rows for one push more than may be in flight.
  std::vector<TouchedIds> touched(spec.tables.size());
  for (uint64_t id = 0; id < (kPushes << 15) + 1; ++id) touched[0].ids.push_back(id);
  touched[0].counts.assign(touched[0].ids.size(), 1);
  Status sent;
  std::thread sender([&] { sent = exchange->SendDeltas(touched, 1); });
  EXPECT_TRUE(holding.Holds(kPushes));
  holding.LetGo();
  sender.join();
  ASSERT_OK(sent);
  EXPECT_EQ(client.ReadTable(0)->size(), touched[0].ids.size());
  ASSERT_OK(client.Stop());
}

}  // namespace
}  // namespace flotilla
