#include "flotilla/launch/job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "flotilla/base/memory_watch.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/communicator/match_model.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/shared_memory.h"
#include "flotilla/server/ps_server.h"
#include "flotilla/table/table_memory.h"

namespace flotilla {
namespace {

constexpr std::chrono::milliseconds kLook(100);
// How long a stopping server waits for the trainers to notice: they ping twice a second.
constexpr int64_t kTellMs = 1'500;
// Trainers that are silent for this long have ended, or will not save any more.
constexpr int64_t kHeardMs = 3'000;

// Lines that must be equal at both ends of a connection.
std::string ExtraText(const JobOptions& options) {
  return fmt::format("mode {}\n{}dictionary {}\n", options.mode.mode, options.graph_text,
                     options.dictionary_hash);
}

// Different for each start of a process; never 0.
uint64_t NewLife() {
  std::random_device random;
  return uint64_t{random()} << 32 | random() | 1;
}

// Loads this server's share of options.init_model.
Status LoadInitModel(const ModelSpec& spec, const JobOptions& options, const LogLine& log,
                     PsService& service) {
  const std::string& dir = options.init_model;
  LoadOptions wanted = options.init_options;
  if (GetMode(options.mode.mode).exchanges) wanted.optimizer_state = false;
  FL_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(dir));
  FL_ASSIGN_OR_RETURN(const ModelMatch match, MatchModel(spec, manifest, wanted));
  const bool go_on = options.init_options.optimizer_state && !match.fresh_optimizer;
  FL_RETURN_IF_ERROR(service.LoadModel(dir, match.Parts(go_on), wanted.threads));
  log(fmt::format("starts from {}, step {}", dir, service.global_step()));
  if (match.fresh_optimizer) log(kFreshOptimizer);
  for (const std::string& name : match.missing) {
    log(fmt::format("{}: not in the model, starts with its initial values", name));
  }
  return absl::OkStatus();
}

// Servers of one host share its cores; more threads than cores would only compete. At most 8: a
// server that is busier is limited by memory.
int ServerThreads(const Role& role) {
  const auto host = [](const std::string& address) {
    return address.substr(0, address.rfind(':'));
  };
  const std::string own = host(role.servers[role.index]);
  const auto here = std::count_if(role.servers.begin(), role.servers.end(),
                                  [&](const std::string& server) { return host(server) == own; });
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores / static_cast<int>(here), 1, 8);
}

// Turns are an optimization: without them training still works.
std::shared_ptr<Turns> OpenTurns(const std::string& name, const LogLine& log) {
  if (name.empty()) return nullptr;
  StatusOr<std::unique_ptr<Turns>> opened = Turns::Open(name);
  if (opened.ok()) return *std::move(opened);
  log(fmt::format("trains without taking turns with other trainers: {}", Message(opened.status())));
  return nullptr;
}

// Of a server that has passed its bound.
std::string MemoryText(PsService& service, const JobOptions& options, int64_t resident) {
  std::vector<MemoryPart> parts;
  ServerTables& tables = service.tables();
  for (int t = 0; t < tables.tables(); ++t) parts.push_back(MemoryOf(tables.table(t)));
  return MemoryBoundText(
      resident, options.max_memory, parts,
      "use more servers (--server_num), a smaller dim of the tables, or a larger --max_memory");
}

// LoadInitModel, ended when the server passes its bound.
Status LoadWithinBound(const ModelSpec& spec, const JobOptions& options, const LogLine& log,
                       PsService& service) {
  Interrupt passed;
  std::optional<MemoryWatch> watch;
  if (options.max_memory > 0) {
    watch.emplace(options.max_memory, [&](int64_t resident) {
      const std::string cause = MemoryText(service, options, resident);
      passed.Raise(ResourceExhausted("{}", cause));
      service.AskStop(cause);
    });
  }
  FL_RETURN_IF_ERROR(LoadInitModel(spec, options, log, service));
  watch.reset();
  return passed.status();
}

// Watches the stop signal and the memory of a server, and ends the job if need be.
class ServerWatch {
 public:
  // REQUIRES: everything outlives the watch.
  ServerWatch(PsServer* server, const Role& role, const JobOptions& options, const LogLine& log,
              const std::function<bool()>& stop)
      : server_(server), role_(role), options_(options), log_(log), stop_(stop), thread_([this] {
          Loop();
        }) {}

  // Returns the outcome of the server, which has ended with `status`.
  Status End(const Status& status) {
    ended_ = true;
    thread_.join();
    if (!status.ok() || out_of_memory_.empty()) return status;
    if (server_->service().stopped_as_asked()) return ResourceExhausted("{}", out_of_memory_);
    log_("the trainers had trained all of their rows before they stopped for lack of memory");
    return status;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Loop() {
    Clock::time_point asked;
    while (!ended_) {
      if (stop_()) return StopWithin(options_.stop_grace_ms);
      if (out_of_memory_.empty()) {
        if (PassesBound()) asked = Clock::now();
      } else if (server_->service().saving()) {
        asked = Clock::now();
      } else if (Clock::now() - asked > std::chrono::milliseconds(options_.asked_grace_ms)) {
        return EndJob(ResourceExhausted("server {}: {}", role_.index, out_of_memory_));
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  bool PassesBound() {
    if (options_.max_memory == 0) return false;
    const int64_t resident = ResidentBytes();
    if (resident <= options_.max_memory) return false;
    out_of_memory_ = MemoryText(server_->service(), options_, resident);
    log_("asks the trainers to save and to stop: " + out_of_memory_);
    server_->service().AskStop(out_of_memory_);
    return true;
  }

  void StopWithin(int64_t grace_ms) {
    log_(fmt::format("told to stop: continues until the trainers have ended, at most {} s",
                     static_cast<double>(grace_ms) * 1e-3));
    const auto until = Clock::now() + std::chrono::milliseconds(grace_ms);
    while (!ended_ && Clock::now() < until && server_->service().liveness().AnyHeard(kHeardMs)) {
      std::this_thread::sleep_for(kLook);
    }
    EndJob(absl::CancelledError(fmt::format("server {} was stopped", role_.index)));
  }

  void EndJob(const Status& cause) {
    if (ended_) return;
    server_->service().Fail(cause);
    server_->service().liveness().WaitUntilTold(kTellMs);
    server_->Stop();
  }

  PsServer* const server_;
  const Role& role_;
  const JobOptions& options_;
  const LogLine& log_;
  const std::function<bool()>& stop_;
  std::atomic<bool> ended_ = false;
  std::string out_of_memory_;  // written by the thread, read when it has ended; empty: it is not
  std::thread thread_;
};

}  // namespace

Status RunServer(const Role& role, const ModelSpec& spec, const JobOptions& options,
                 const Clock* clock, const LogLine& log, const std::function<bool()>& stop) {
  PsServerOptions server_options;
  PsServiceOptions& service = server_options.service;
  service.job_id = options.job_id;
  service.server = role.index;
  service.servers = static_cast<int>(role.servers.size());
  service.policy = GetMode(options.mode.mode).policy;
  service.model_extra = ExtraText(options);
  service.life = NewLife();
  service.liveness.trainers = role.trainers;
  service.liveness.silent_bound_ms = options.flags.silent_bound_ms;
  service.liveness.start_timeout_ms = options.start_timeout_ms;
  service.rounds.trainers = role.trainers;
  if (!options.init_model.empty()) {
    server_options.prepare = [&](PsService& made) {
      return Annotate(LoadWithinBound(spec, options, log, made),
                      "init_server " + options.init_model);
    };
  }
  if (options.max_memory > 0) {
    log(fmt::format("memory is bounded to {} (--max_memory)", HumanBytes(options.max_memory)));
  }
  const std::string& address = role.servers[role.index];
  GrpcOptions grpc;
  grpc.server_threads = ServerThreads(role);
  std::optional<SharedMemoryService> sharing;  // outlives the server, which calls it
  const auto listen = [&](Service* handler) {
    return ListenGrpc(address, &sharing.emplace(handler, SharedMemoryOptions()), grpc);
  };
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<PsServer> server,
                      PsServer::Start(spec, server_options, listen, clock, log));
  log(fmt::format("{} listens on {}", role.ToString(), server->address()));
  ServerWatch watch(server.get(), role, options, log, stop);
  const Status status = server->Wait();
  return watch.End(status);
}

Status TrainerJob::Stop(bool asked) {
  if (communicator->in_epoch()) {
    if (Status status = communicator->Flush(); !status.ok()) {
      Abort(status);
      return status;
    }
  }
  return client == nullptr ? absl::OkStatus() : client->Stop(asked);
}

StatusOr<TrainerJob> JoinJob(const Role& role, const ModelSpec& spec, const JobOptions& options,
                             const Clock* clock, const LogLine& log) {
  TrainerJob job;
  if (!GetMode(options.mode.mode).has_servers) {
    job.group = MakeSoloGroup();
    FL_ASSIGN_OR_RETURN(auto local, LocalCommunicator::Make(spec, options.mode.local));
    job.local = local.get();
    job.communicator = std::move(local);
    return job;
  }
  PsClientOptions client{.job_id = options.job_id,
                         .trainer = role.index,
                         .trainers = role.trainers,
                         .incarnation = NewLife(),
                         .model_extra = ExtraText(options)};
  client.shared_storage = options.shared_storage;
  client.half_dense = options.half_dense;
  options.flags.Apply(&client);
  client.on_stop_asked = options.on_stop_asked;
  if (Interrupt* const interrupt = options.interrupt; interrupt != nullptr) {
    client.on_failure = [interrupt](const Status& error) { interrupt->Raise(error); };
  }
  FL_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport, ConnectGrpc(role.servers, {}));
  if (options.shared_memory) transport = ShareMemory(std::move(transport), SharedMemoryOptions());
  FL_ASSIGN_OR_RETURN(std::unique_ptr<Transport> control,
                      ConnectGrpc(role.servers, ControlOptions(client.heartbeat.silent_bound_ms)));
  job.client = std::make_unique<PsClient>(spec, client, std::move(transport), clock, log,
                                          std::move(control));
  FL_RETURN_IF_ERROR(job.client->WaitForServers(options.start_timeout_ms, options.stop));
  ModeOptions mode = options.mode;
  mode.async.turns = OpenTurns(options.turns, log);
  job.group = MakeClientGroup(job.client.get());
  auto communicator = MakeCommunicator(spec, mode, job.client.get(), clock);
  if (!communicator.ok()) {
    // Otherwise the servers that know this trainer would wait for its first call until it counts as
    // lost.
    job.client->Abort(communicator.status());
    return communicator.status();
  }
  job.communicator = *std::move(communicator);
  return job;
}

}  // namespace flotilla
