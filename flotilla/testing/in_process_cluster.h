// The servers and clients of one job in one process, for tests of everything that talks to servers:
// over the in-process transport, or over gRPC on loopback or unix sockets, optionally with injected
// faults.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/inproc_transport.h"
#include "flotilla/rpc/shared_memory.h"
#include "flotilla/server/ps_server.h"
#include "flotilla/testing/fault_transport.h"

namespace flotilla {

// The transport of requests. kShared: TCP, with large slices in shared memory.
enum class Wire { kInproc, kTcp, kUnix, kShared };

// Tests run on busy machines: short silence does not mean that a process is dead.
inline PsServerOptions PatientServer() {
  PsServerOptions options;
  options.service.liveness.silent_bound_ms = 120'000;
  return options;
}
inline PsClientOptions PatientClient() {
  PsClientOptions options;
  options.heartbeat.silent_bound_ms = 120'000;
  return options;
}

struct ClusterOptions {
  int servers = 1;
  int trainers = 1;
  Wire wire = Wire::kInproc;
  UpdatePolicy policy = UpdatePolicy::kOnArrival;
  // If set: faults between every client and the servers.
  std::optional<FaultOptions> faults;
  // Other options of servers and clients; indices, counts, job and policy are filled in.
  PsServerOptions server = PatientServer();
  PsClientOptions client = PatientClient();
  GrpcOptions grpc;
  // Null: a steady clock.
  const Clock* clock = nullptr;
};

// Not thread-safe, except for the objects that it returns.
class InProcessCluster {
 public:
  // Starts the servers. Clients connect one by one (Connect) or all together (RunTrainers).
  // Fails the test if a server cannot be started.
  InProcessCluster(ModelSpec spec, ClusterOptions options);
  // Destroys clients first, then servers.
  ~InProcessCluster();

  int servers() const { return options_.servers; }
  int trainers() const { return options_.trainers; }
  PsServer& server(int index) { return *servers_[index]; }
  // REQUIRES: the trainer has connected.
  PsClient& client(int trainer) { return *clients_[trainer]; }

  // A client that is not connected yet.
  std::unique_ptr<PsClient> MakeClient(int trainer);
  std::unique_ptr<Transport> MakeTransport(int trainer);
  // The transport of a client's pings. Null: the same as for its other calls.
  std::unique_ptr<Transport> MakeControl();
  // Makes client(trainer), with a new incarnation if it existed before, and connects it.
  Status Connect(int trainer);
  Status ConnectAll();

  // Calls work(trainer, client) for every trainer, each in its own thread; connects those that are
  // not connected yet. Returns the first error in trainer order. If a trainer fails and the others
  // do not end within a minute, aborts the job with its error.
  Status RunTrainers(const std::function<Status(int trainer, PsClient& client)>& work);

  // Stops all clients and waits for the servers, which must end with Ok. Returns the first error.
  Status StopAll();

  // Stops a server as if the process were killed.
  void KillServer(int index) { servers_[index]->Stop(); }
  // Starts it again at the same address, with new tables.
  void RestartServer(int index);
  void DropClient(int trainer) { clients_[trainer] = nullptr; }

  // The log of servers and clients.
  std::string log() const;
  // How often the faults happened, for all clients together.
  int64_t lost_replies() const;

 private:
  // Listens at addresses_[index], or at any address if that is empty.
  void StartServer(int index);

  ModelSpec spec_;
  ClusterOptions options_;
  SteadyClock steady_clock_;
  const Clock* clock_;
  InprocNetwork network_;
  TempDir sockets_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<SharedMemoryService>> sharing_;  // per server, with Wire::kShared
  std::vector<std::unique_ptr<PsServer>> servers_;
  std::vector<std::unique_ptr<PsClient>> clients_;
  std::vector<uint64_t> lives_;  // of trainers
  uint64_t server_lives_ = 0;    // of all servers together

  mutable Mutex mutex_;
  std::string log_ FL_GUARDED_BY(mutex_);
  std::vector<const FaultTransport*> faulty_ FL_GUARDED_BY(mutex_);  // of existing clients
};

// Names of the wires, for test names.
std::string NameOf(Wire wire);

}  // namespace flotilla
