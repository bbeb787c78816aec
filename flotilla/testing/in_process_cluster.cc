#include "flotilla/testing/in_process_cluster.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>

namespace flotilla {

namespace {

constexpr int64_t kStartTimeoutMs = 60'000;
// How long trainers may take to end after one of them has failed.
constexpr std::chrono::seconds kPatience(60);
// Tests have small tensors: choose sizes so that nearly all are shared, and not all of them fit.
constexpr SharedMemoryOptions kSharedMemory{.area_bytes = size_t{1} << 20, .min_slice_bytes = 64};

}  // namespace

std::string NameOf(Wire wire) {
  switch (wire) {
    case Wire::kInproc:
      return "Inproc";
    case Wire::kTcp:
      return "Tcp";
    case Wire::kUnix:
      return "Unix";
    case Wire::kShared:
      return "Shared";
  }
  return "";
}

InProcessCluster::InProcessCluster(ModelSpec spec, ClusterOptions options)
    : spec_(std::move(spec)),
      options_(std::move(options)),
      clock_(options_.clock != nullptr ? options_.clock : &steady_clock_),
      addresses_(options_.servers),
      servers_(options_.servers),
      clients_(options_.trainers),
      lives_(options_.trainers) {
  for (int s = 0; s < options_.servers; ++s) StartServer(s);
}

void InProcessCluster::StartServer(int index) {
  PsServerOptions server = options_.server;
  server.service.job_id = "test";
  server.service.server = index;
  server.service.servers = options_.servers;
  server.service.life = ++server_lives_;
  server.service.policy = options_.policy;
  server.service.liveness.trainers = options_.trainers;
  std::string& address = addresses_[index];
  const std::string port = address.empty() ? "127.0.0.1:0" : address;
  const auto listen = [&](Service* service) -> StatusOr<std::unique_ptr<Listener>> {
    switch (options_.wire) {
      case Wire::kInproc:
        return network_.Listen("server" + std::to_string(index), service);
      case Wire::kTcp:
        return ListenGrpc(port, service, options_.grpc);
      case Wire::kShared:
        sharing_.push_back(std::make_unique<SharedMemoryService>(service, kSharedMemory));
        return ListenGrpc(port, sharing_.back().get(), options_.grpc);
      case Wire::kUnix:
        break;
    }
    return ListenGrpc(fmt::format("unix:{}/{}", sockets_.path(), index), service, options_.grpc);
  };
  const LogLine log = [this](std::string_view line) {
    MutexLock lock(mutex_);
    log_.append(line).append("\n");
  };
  auto started = PsServer::Start(spec_, server, listen, clock_, log);
  if (!started.ok()) {
    ADD_FAILURE() << started.status();
    return;
  }
  address = (*started)->address();
  servers_[index] = *std::move(started);
}

void InProcessCluster::RestartServer(int index) {
  KillServer(index);
  servers_[index] = nullptr;
  StartServer(index);
}

InProcessCluster::~InProcessCluster() {
  clients_.clear();
  servers_.clear();
}

std::unique_ptr<Transport> InProcessCluster::MakeTransport(int trainer) {
  std::unique_ptr<Transport> transport;
  if (options_.wire == Wire::kInproc) {
    transport = network_.Connect(addresses_);
  } else {
    auto connected = ConnectGrpc(addresses_, options_.grpc);
    EXPECT_TRUE(connected.ok()) << connected.status();
    transport = *std::move(connected);
  }
  if (options_.wire == Wire::kShared) transport = ShareMemory(std::move(transport), kSharedMemory);
  if (!options_.faults.has_value()) return transport;
  FaultOptions faults = *options_.faults;
  faults.seed += static_cast<uint64_t>(trainer) * 1000;
  auto faulty = std::make_unique<FaultTransport>(std::move(transport), faults);
  MutexLock lock(mutex_);
  faulty_.push_back(faulty.get());
  return faulty;
}

std::unique_ptr<Transport> InProcessCluster::MakeControl() {
  if (options_.wire == Wire::kInproc) return nullptr;
  auto connected =
      ConnectGrpc(addresses_, ControlOptions(options_.client.heartbeat.silent_bound_ms));
  EXPECT_TRUE(connected.ok()) << connected.status();
  return *std::move(connected);
}

std::unique_ptr<PsClient> InProcessCluster::MakeClient(int trainer) {
  PsClientOptions client = options_.client;
  client.job_id = "test";
  client.trainer = trainer;
  client.trainers = options_.trainers;
  client.incarnation = ++lives_[trainer];
  const LogLine log = [this](std::string_view line) {
    MutexLock lock(mutex_);
    log_.append(line).append("\n");
  };
  return std::make_unique<PsClient>(spec_, client, MakeTransport(trainer), clock_, log,
                                    MakeControl());
}

Status InProcessCluster::Connect(int trainer) {
  clients_[trainer] = MakeClient(trainer);
  return clients_[trainer]->WaitForServers(kStartTimeoutMs);
}

Status InProcessCluster::ConnectAll() {
  for (int t = 0; t < options_.trainers; ++t) {
    if (clients_[t] == nullptr) FL_RETURN_IF_ERROR(Connect(t));
  }
  return absl::OkStatus();
}

Status InProcessCluster::RunTrainers(
    const std::function<Status(int trainer, PsClient& client)>& work) {
  FL_RETURN_IF_ERROR(ConnectAll());
  struct State {
    explicit State(int trainers) : results(trainers), running(trainers) {}
    Mutex mutex;
    CondVar changed;
    std::vector<Status> results FL_GUARDED_BY(mutex);
    Status first_error FL_GUARDED_BY(mutex);
    int running FL_GUARDED_BY(mutex);
  } state(options_.trainers);
  std::vector<std::thread> threads;
  for (int t = 0; t < options_.trainers; ++t) {
    threads.emplace_back([&, t] {
      Status result = work(t, *clients_[t]);
      MutexLock lock(state.mutex);
      if (state.first_error.ok()) state.first_error = result;
      state.results[t] = std::move(result);
      --state.running;
      state.changed.notify_all();
    });
  }
  Status stuck;
  {
    MutexLock lock(state.mutex);
    const auto done = [&]() FL_REQUIRES(state.mutex) { return state.running == 0; };
    while (state.first_error.ok() && !done()) state.changed.wait(state.mutex);
    if (!state.changed.wait_for(state.mutex, kPatience, done)) stuck = state.first_error;
  }
  // The client of a trainer that has failed is alive, and so the others may wait for it without
  // end.
  if (!stuck.ok()) clients_[0]->Abort(stuck);
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(state.mutex);
  for (int t = 0; t < options_.trainers; ++t) {
    if (!state.results[t].ok()) return Annotate(state.results[t], fmt::format("trainer {}", t));
  }
  return absl::OkStatus();
}

Status InProcessCluster::StopAll() {
  for (const auto& client : clients_) FL_RETURN_IF_ERROR(client->Stop());
  for (const auto& server : servers_) FL_RETURN_IF_ERROR(server->Wait());
  return absl::OkStatus();
}

std::string InProcessCluster::log() const {
  MutexLock lock(mutex_);
  return log_;
}

int64_t InProcessCluster::lost_replies() const {
  MutexLock lock(mutex_);
  int64_t lost = 0;
  for (const FaultTransport* faulty : faulty_) lost += faulty->counts().lost_replies;
  return lost;
}

}  // namespace flotilla
