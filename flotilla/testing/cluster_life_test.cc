// How jobs begin and end: handshake, silence, errors that are reported to all, shutdown.
#include <dirent.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using LifeTest = ClusterTest;
FL_ON_EVERY_WIRE(LifeTest);

// Connects a client with this spec and these options; returns the outcome of the handshake.
Status Introduce(InProcessCluster& cluster, ModelSpec spec, PsClientOptions options,
                 int64_t timeout_ms = 2000) {
  SteadyClock clock;
  PsClient client(std::move(spec), std::move(options), cluster.MakeTransport(0), &clock, {});
  return client.WaitForServers(timeout_ms);
}

PsClientOptions TestClient(int trainers = 1) {
  PsClientOptions options;
  options.job_id = "test";
  options.trainers = trainers;
  return options;
}

void ExpectRefused(const Status& status, const std::string& says) {
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(status.ToString().find(says), std::string::npos) << status;
}

TEST_P(LifeTest, ServersEndByThemselvesWhenTheLastTrainerHasStopped) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.servers = 2, .trainers = 2, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  Status ended = absl::UnknownError("not yet");
  std::thread waiter([&] { ended = cluster.server(0).Wait(); });
  ASSERT_OK(cluster.client(0).Stop());
  ASSERT_OK(cluster.client(1).Stop());
  waiter.join();
  EXPECT_TRUE(ended.ok()) << ended;
  EXPECT_TRUE(cluster.server(1).Wait().ok());
}

TEST_P(LifeTest, AModelThatDiffersIsRefusedAndTheFirstDifferentLineIsShown) {
  InProcessCluster cluster(CountingModel({10}, {4}), {.wire = GetParam()});
  ModelSpec other = CountingModel({10}, {5});
  ExpectRefused(Introduce(cluster, other, TestClient()), "\"table emb0 dim 4 rows");
  ExpectRefused(Introduce(cluster, other, TestClient()), "\"table emb0 dim 5 rows");
  other = CountingModel({10}, {4});
  other.optimizer = Sgd(0.5);
  ExpectRefused(Introduce(cluster, other, TestClient()), "rate=0.5");
  PsClientOptions graph = TestClient();
  graph.model_extra = "graph 12ab";
  ExpectRefused(Introduce(cluster, CountingModel({10}, {4}), graph), "\"graph 12ab\" there");
}

TEST_P(LifeTest, AnotherJobProtocolOrClusterIsRefused) {
  InProcessCluster cluster(CountingModel({10}, {4}), {.trainers = 2, .wire = GetParam()});
  const ModelSpec spec = CountingModel({10}, {4});
  PsClientOptions options = TestClient(2);
  options.job_id = "other";
  ExpectRefused(Introduce(cluster, spec, options), "job \"other\", this server belongs to");
  ExpectRefused(Introduce(cluster, spec, TestClient(1)),
                "trainer 0 knows 1 servers and 1 trainers, server 0 knows 1 and 2");
  options = TestClient(2);
  options.shard_map_version = 9;
  ExpectRefused(Introduce(cluster, spec, options), "shard map 9, the server has 1");
}

TEST_P(LifeTest, AServerThatIsKilledDuringACallIsNamedSoon) {
  ClusterOptions options{.servers = 2, .trainers = 2, .wire = GetParam()};
  options.client.retry.first_backoff_ms = 5;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.ConnectAll());
  Status status;
  const auto start = std::chrono::steady_clock::now();
  // The barrier waits for trainer 1, which does not come.
  std::thread waiter([&] { status = cluster.client(0).Barrier("epoch"); });
  cluster.KillServer(0);
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_NE(status.ToString().find(cluster.server(0).address()), std::string::npos) << status;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_P(LifeTest, TheFirstErrorReachesEveryTrainerAndEveryServer) {
  ClusterOptions options{.servers = 2, .trainers = 3, .wire = GetParam()};
  options.client.heartbeat.interval_ms = 20;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  std::vector<Status> results(3);
  ASSERT_OK(cluster.RunTrainers([&](int trainer, PsClient& client) {
    if (trainer == 1) {
      client.Abort(absl::DataLossError("train.txt:17: not a number"));
      results[trainer] = client.status();
    } else {
      results[trainer] = client.Barrier("epoch");
    }
    return absl::OkStatus();
  }));
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_NE(status.ToString().find("train.txt:17: not a number"), std::string::npos) << status;
  }
  for (int s = 0; s < 2; ++s) {
    const Status status = cluster.server(s).Wait();
    EXPECT_NE(status.ToString().find("trainer 1: train.txt:17"), std::string::npos) << status;
  }
  // Later calls return it too.
  EXPECT_EQ(cluster.client(0).Barrier("next").code(), absl::StatusCode::kDataLoss);
}

TEST_P(LifeTest, AnErrorOfOneServerReachesTheOthersThroughTheTrainers) {
  ClusterOptions options{.servers = 2, .trainers = 1, .wire = GetParam()};
  options.client.heartbeat.interval_ms = 20;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.ConnectAll());
  cluster.server(0).service().Fail(absl::ResourceExhaustedError("no memory is left"));
  const Status other = cluster.server(1).Wait();
  EXPECT_NE(other.ToString().find("no memory is left"), std::string::npos) << other;
}

TEST(LivenessInClusterTest, ATrainerThatFallsSilentEndsTheJobAndIsNamed) {
  ClusterOptions options{.servers = 1, .trainers = 2};
  options.server.service.liveness.silent_bound_ms = 150;
  options.server.service.tick_ms = 20;
  options.client.heartbeat.interval_ms = 20;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.Connect(0));
  {
    PsClientOptions silent = TestClient(2);
    silent.trainer = 1;
    SteadyClock clock;
    PsClient trainer(CountingModel({}, {1}), silent, cluster.MakeTransport(1), &clock, {});
    ASSERT_OK(trainer.WaitForServers(2000));
  }  // gone without a word
  const Status status = cluster.client(0).Barrier("epoch");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_NE(status.ToString().find("trainer 1 has been silent for"), std::string::npos) << status;
  EXPECT_NE(cluster.server(0).Wait().ToString().find("trainer 1"), std::string::npos);
}

TEST(LivenessInClusterTest, TheOthersGoOnWithoutALostTrainerWhereAllowed) {
  ClusterOptions options{.servers = 2, .trainers = 2, .policy = UpdatePolicy::kOnBarrier};
  options.server.service.liveness.silent_bound_ms = 150;
  options.server.service.liveness.lost_trainer_ends_job = false;
  options.server.service.tick_ms = 20;
  options.client.heartbeat.interval_ms = 20;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.ConnectAll());
  auto leaver = std::thread([&] { EXPECT_TRUE(cluster.client(1).EnterRounds().ok()); });
  ASSERT_OK(cluster.client(0).EnterRounds());
  leaver.join();
  cluster.DropClient(1);
  // The round waits for trainer 1 until that is considered dead.
  const std::vector<SparseRows> rows = {RowsOf({1}, 1, 4)};
  ASSERT_OK(cluster.client(0).Push({.kind = PushKind::kInRound, .sparse = rows}));
  ASSERT_OK(cluster.client(0).Barrier("alone"));
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = {1};
  ASSERT_OK(cluster.client(0).Pull(Missing::kDefault, pulled));
  EXPECT_EQ(pulled[0].values[0], 4);  // the mean over one
  // It cannot come back, neither as the process that fell silent nor as another.
  EXPECT_EQ(cluster.MakeClient(1)->WaitForServers(2000).code(), absl::StatusCode::kAborted);
  ASSERT_OK(cluster.client(0).Stop());
  for (int s = 0; s < 2; ++s) EXPECT_OK(cluster.server(s).Wait());
}

void ExpectAborted(const Status& status, const std::string& says) {
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_NE(status.ToString().find(says), std::string::npos) << status;
}

TEST_P(LifeTest, ATrainerThatIsStartedTwiceIsRefusedAndTheFirstOneGoesOn) {
  InProcessCluster cluster(CountingModel({}, {1}),
                           {.servers = 2, .trainers = 2, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  const std::vector<SparseRows> rows = {RowsOf({1, 2, 3}, 1)};
  ASSERT_OK(cluster.client(0).Push({.sparse = rows}));
  ExpectAborted(cluster.MakeClient(0)->WaitForServers(2000),
                "another process has joined this run as trainer 0: it was last heard");
  ASSERT_OK(cluster.client(0).Push({.sparse = rows}));
  ASSERT_OK(cluster.client(0).Stop());
  // A server answers before it counts the trainer as finished.
  Status refused = cluster.MakeClient(0)->WaitForServers(2000);
  for (int i = 0; i < 1000 && refused.ToString().find("last heard") != std::string::npos; ++i) {
    refused = cluster.MakeClient(0)->WaitForServers(2000);
  }
  ExpectAborted(refused, "trainer 0: it has finished");
  ASSERT_OK(cluster.client(1).Push({.sparse = rows}));
  ASSERT_OK(cluster.client(1).Stop());
  for (int s = 0; s < 2; ++s) EXPECT_OK(cluster.server(s).Wait());
}

TEST(LivenessInClusterTest, ATrainerThatWasRestartedIsRefusedAndTheKilledOneIsMissed) {
  for (const UpdatePolicy policy :
       {UpdatePolicy::kOnArrival, UpdatePolicy::kOnBarrier, UpdatePolicy::kAddDelta}) {
    ClusterOptions options{.servers = 2, .trainers = 2, .policy = policy};
    options.server.service.liveness.silent_bound_ms = 1'000;
    options.server.service.tick_ms = 20;
    options.client.heartbeat.interval_ms = 20;
    InProcessCluster cluster(CountingModel({}, {1}), options);
    ASSERT_OK(cluster.ConnectAll());
    Status other;
    std::thread trainer([&] { other = cluster.client(0).EnterRounds(); });
    cluster.DropClient(1);
    ExpectAborted(cluster.MakeClient(1)->WaitForServers(2000),
                  "one that was restarted cannot rejoin: stop all processes and restart the job "
                  "with --resume");
    trainer.join();
    EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable) << other;
    for (int s = 0; s < 2; ++s) {
      const Status status = cluster.server(s).Wait();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_NE(status.ToString().find("trainer 1 has been silent for"), std::string::npos);
    }
    // A trainer that connects now is told why the job has failed, with the status code.
    EXPECT_EQ(cluster.client(0).status().code(), absl::StatusCode::kUnavailable);
  }
}

TEST(LivenessInClusterTest, AHandshakeOfAJobThatHasFailedIsAnsweredWithItsCause) {
  InProcessCluster cluster(CountingModel({}, {1}), {.trainers = 2});
  cluster.server(0).service().Fail(absl::UnavailableError("trainer 1 has been silent"));
  const Status status = cluster.MakeClient(0)->WaitForServers(60'000);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_NE(status.ToString().find("trainer 1 has been silent"), std::string::npos) << status;
}

TEST_P(LifeTest, AServerThatWasRestartedEndsTheJob) {
  for (const UpdatePolicy policy :
       {UpdatePolicy::kOnArrival, UpdatePolicy::kOnBarrier, UpdatePolicy::kAddDelta}) {
    ClusterOptions options{.servers = 2, .trainers = 2, .wire = GetParam(), .policy = policy};
    options.client.heartbeat.interval_ms = 20;
    options.client.retry = {.retry_times = 10'000, .first_backoff_ms = 5, .max_backoff_ms = 20};
    InProcessCluster cluster(CountingModel({}, {1}), options);
    ASSERT_OK(cluster.ConnectAll());
    Status waiting;
    // In sync mode a trainer waits for another when it happens.
    std::thread trainer([&] { waiting = cluster.client(0).EnterRounds(); });
    cluster.RestartServer(1);
    trainer.join();
    const std::string says =
        "the server was restarted and has lost its parameters. Restart the job";
    ExpectAborted(waiting, says);
    ExpectAborted(cluster.client(1).Barrier("epoch"), says);
    for (int s = 0; s < 2; ++s) ExpectAborted(cluster.server(s).Wait(), says);
  }
}

TEST(LivenessInClusterTest, TrainersThatNeverComeAreNamed) {
  ClusterOptions options{.trainers = 3};
  options.server.service.liveness.start_timeout_ms = 50;
  options.server.service.tick_ms = 10;
  options.client.heartbeat.interval_ms = 20;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.Connect(1));
  const Status status = cluster.server(0).Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_NE(status.ToString().find("trainer 0, 2 did not connect within 50 ms"), std::string::npos)
      << status;
}

TEST(WaitForServersTest, ServersThatAreNotUpAreNamedWhenTimeIsOver) {
  InprocNetwork network;
  SteadyClock clock;
  PsClient client(CountingModel({}, {1}), TestClient(), network.Connect({"alpha", "beta"}), &clock,
                  {});
  const Status status = client.WaitForServers(50);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.ToString().find("server 0 (alpha), server 1 (beta)"), std::string::npos)
      << status;
}

TEST(WaitForServersTest, AServerThatComesLateIsWaitedFor) {
  InprocNetwork network;
  SteadyClock clock;
  const ModelSpec spec = CountingModel({}, {1});
  PsClient client(spec, TestClient(), network.Connect({"alpha"}), &clock, {});
  Status status = absl::UnknownError("");
  std::thread trainer([&] { status = client.WaitForServers(10'000); });
  PsServerOptions options;
  options.service.job_id = "test";
  const auto server = PsServer::Start(
      spec, options, [&](Service* service) { return network.Listen("alpha", service); }, &clock,
      {});
  ASSERT_TRUE(server.ok()) << server.status();
  trainer.join();
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_OK(client.Stop());
  EXPECT_TRUE((*server)->Wait().ok());
}

// Servers alpha and beta of one job, each started by the test.
class TwoServersTest : public ::testing::Test {
 protected:
  // Counts what arrives on its way to the service.
  class Counted : public Service {
   public:
    void Handle(Payload request, ReplyCallback reply) override {
      inner->Handle(std::move(request), std::move(reply));
      ++handled;
    }
    Service* inner = nullptr;
    std::atomic<int> handled = 0;
  };

  void Start(int index, const ModelSpec& spec) {
    PsServerOptions options;
    options.service.job_id = "test";
    options.service.server = index;
    options.service.servers = 2;
    options.service.life = ++lives_;
    options.service.tick_ms = 5;
    const auto listen = [&](Service* service) {
      counted_[index].inner = service;
      return network_.Listen(index == 0 ? "alpha" : "beta", &counted_[index]);
    };
    auto started = PsServer::Start(spec, options, listen, &server_clock_, {});
    ASSERT_TRUE(started.ok()) << started.status();
    servers_[index] = *std::move(started);
  }
  std::unique_ptr<PsClient> Trainer(uint64_t incarnation = 1) {
    PsClientOptions options = TestClient();
    options.incarnation = incarnation;
    options.heartbeat.interval_ms = 5;
    return std::make_unique<PsClient>(spec_, options, network_.Connect({"alpha", "beta"}), &clock_,
                                      [](std::string_view) {});
  }

  const ModelSpec spec_ = CountingModel({}, {1});
  const SteadyClock clock_;
  ManualClock server_clock_;
  InprocNetwork network_;
  Counted counted_[2];
  uint64_t lives_ = 0;
  std::unique_ptr<PsServer> servers_[2];
};

TEST_F(TwoServersTest, ATrainerThatWaitsForOneIsNotTakenForDeadByTheOther) {
  Start(0, spec_);
  const auto client = Trainer();
  Status status = absl::UnknownError("");
  std::thread trainer([&] { status = client->WaitForServers(60'000); });
  for (int i = 0; i < 5; ++i) {
    // More than half of the time that a trainer may be silent, then a sign of life. In steps: a
    // server whose clock jumps was paused itself.
    for (int step = 0; step < 3; ++step) {
      server_clock_.AdvanceMs(2'000);
      servers_[0]->service().Tick();
    }
    const int before = counted_[0].handled;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (counted_[0].handled < before + 2 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    servers_[0]->service().Tick();
  }
  Start(1, spec_);
  trainer.join();
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_OK(servers_[0]->service().liveness().status());
  ASSERT_OK(client->Stop());
}

TEST_F(TwoServersTest, WhyATrainerGaveUpIsToldToThoseWhoAreThere) {
  Start(0, spec_);
  EXPECT_EQ(Trainer()->WaitForServers(50).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(servers_[0]->Wait().message(), "trainer 0: not ready within 50 ms: server 1 (beta)");
}

TEST_F(TwoServersTest, ARefusalOfOneIsToldToTheOther) {
  Start(0, spec_);
  Start(1, CountingModel({}, {2}));
  ExpectRefused(Trainer()->WaitForServers(10'000), "the models of server 1 and trainer 0 differ");
  ExpectRefused(servers_[0]->Wait(), "the models of server 1 and trainer 0 differ");
}

TEST_F(TwoServersTest, AServerThatIsRestartedWhileATrainerWaitsForAnotherIsNoticed) {
  Start(0, spec_);
  const auto client = Trainer();
  Status status = absl::UnknownError("");
  std::thread trainer([&] { status = client->WaitForServers(60'000); });
  while (counted_[0].handled < 2) std::this_thread::yield();  // the first answer was taken
  servers_[0]->Stop();
  servers_[0] = nullptr;
  Start(0, spec_);
  trainer.join();
  ExpectAborted(status, "server 0 (alpha): was restarted and has lost its parameters");
}

TEST_F(TwoServersTest, ATrainerThatIsRefusedTellsNobodyButThoseThatKnowIt) {
  Start(0, spec_);
  const auto first = Trainer();
  Status status = absl::UnknownError("");
  std::thread trainer([&] { status = first->WaitForServers(60'000); });
  while (counted_[0].handled < 2) std::this_thread::yield();  // the first answer was taken
  ExpectAborted(Trainer(/*incarnation=*/2)->WaitForServers(60'000), "cannot be started twice");
  Start(1, spec_);
  trainer.join();
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_OK(first->Stop());
  for (const auto& server : servers_) EXPECT_OK(server->Wait());
}

TEST_F(TwoServersTest, AWaitForServersCanBeStopped) {
  Start(0, spec_);
  const Status status = Trainer()->WaitForServers(60'000, [] { return true; });
  EXPECT_EQ(status.message(), "stopped while waiting for server 1 (beta)");
  EXPECT_EQ(servers_[0]->Wait().code(), absl::StatusCode::kCancelled);
}

TEST(LivenessInClusterTest, AServerThatIsStoppedWaitsForNobodyToHearOfAFailure) {
  ClusterOptions options{.trainers = 2};
  options.server.told_timeout_ms = 600'000;
  InProcessCluster cluster(CountingModel({}, {1}), options);
  ASSERT_OK(cluster.ConnectAll());
  cluster.DropClient(1);  // it will never hear of anything
  cluster.server(0).service().Fail(absl::DataLossError("a bad disk"));
  Status ended;
  std::thread waiter([&] { ended = cluster.server(0).Wait(); });
  cluster.server(0).Stop();
  waiter.join();
  EXPECT_EQ(ended.message(), "a bad disk");
}

int Threads() {
  int threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (readdir(tasks) != nullptr) ++threads;
  closedir(tasks);
  return threads;
}

TEST_P(LifeTest, AClusterLeavesNoThreadBehind) {
  const auto run = [&] {
    InProcessCluster cluster(CountingModel({100}, {1}),
                             {.servers = 2, .trainers = 2, .wire = GetParam()});
    ASSERT_OK(cluster.ConnectAll());
    ASSERT_OK(cluster.StopAll());
  };
  run();  // gRPC keeps threads of its own for the next time
  const int before = Threads();
  for (int i = 0; i < 3; ++i) run();
  // The number of gRPC threads varies by one or two, and they end a while after their work; a
  // leaked thread per run would be at least four, and stay.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (Threads() > before + 3 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(Threads(), before + 3);
}

}  // namespace
}  // namespace flotilla
