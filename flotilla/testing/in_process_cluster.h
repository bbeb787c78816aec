// Servers and trainers' clients of one job in one process: how everything that talks to servers is
// tested. Over the in-process transport, or over gRPC on loopback or unix sockets, with faults at
// the seam where wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/inproc_transport.h"
#include "flotilla/rpc/shared_memory.h"
#include "flotilla/server/ps_server.h"
#include "flotilla/testing/fault_transport.h"

namespace flotilla {

// What carries the requests. kShared: TCP, with large slices in shared memory.
enum class Wire { kInproc, kTcp, kUnix, kShared };

// Tests run on machines that are busy with other things: silence means little there.
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
  // Set: between every client and the servers.
  std::optional<FaultOptions> faults;
  // What else is wanted of servers and clients; indices, numbers, job and policy are filled in.
  PsServerOptions server = PatientServer();
  PsClientOptions client = PatientClient();
  GrpcOptions grpc;
  // Null: a steady one.
  const Clock* clock = nullptr;
};

// Not thread-safe, but for what it hands out.
class InProcessCluster {
 public:
  // Starts the servers. Clients connect one by one (Connect) or all together (RunTrainers).
  // Fails the test when a server cannot be started.
  InProcessCluster(ModelSpec spec, ClusterOptions options);
  // Clients go first, then servers.
  ~InProcessCluster();

  int servers() const { return options_.servers; }
  int trainers() const { return options_.trainers; }
  PsServer& server(int index) { return *servers_[index]; }
  // REQUIRES: the trainer has connected.
  PsClient& client(int trainer) { return *clients_[trainer]; }

  // A client that has not introduced itself.
  std::unique_ptr<PsClient> MakeClient(int trainer);
  std::unique_ptr<Transport> MakeTransport(int trainer);
  // Of a client's pings. Null: the other one's.
  std::unique_ptr<Transport> MakeControl();
  // Makes client(trainer), in its next life if it had one, and introduces it.
  Status Connect(int trainer);
  Status ConnectAll();

  // Calls work(trainer, client) for every trainer, each in a thread of its own; connects those that
  // have not. Returns the first error in trainer order.
  Status RunTrainers(const std::function<Status(int trainer, PsClient& client)>& work);

  // Stops all clients and waits for the servers, which must end with Ok. Returns the first error.
  Status StopAll();

  // As if the process were killed.
  void KillServer(int index) { servers_[index]->Stop(); }
  // .. and started again at the same address. Its first tables are new.
  void RestartServer(int index);
  void DropClient(int trainer) { clients_[trainer] = nullptr; }

  // What servers and clients told.
  std::string log() const;
  // Of all clients together: how often the faults happened.
  int64_t lost_replies() const;

 private:
  // Listens at addresses_[index], or at an address of its choice where that is empty.
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

  mutable std::mutex mutex_;
  std::string log_;                            // guarded by mutex_
  std::vector<const FaultTransport*> faulty_;  // likewise; of clients that live
};

// Names of the wires, for test names.
std::string NameOf(Wire wire);

}  // namespace flotilla
