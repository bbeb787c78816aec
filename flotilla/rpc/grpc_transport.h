// The transport between processes: gRPC over TCP or unix sockets. Together with its source the only
// place that knows gRPC.
//
// One request is one stream of the connection: the payload goes out in chunks, the answer comes
// back in chunks (docs/wire_protocol.md). Slices are handed to gRPC as they stand in memory, so
// tensors are copied by the kernel alone on the way out; what arrives is kept in gRPC's slices and
// copied once, by whoever reads the payload. Proxies of the environment are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

// The same for both ends of a job.
struct GrpcOptions {
  // A payload beyond it is refused, on the way out and, before memory is taken, on the way in.
  size_t max_message_bytes = size_t{1} << 30;
  // Payloads are cut into chunks of so many bytes.
  size_t chunk_bytes = size_t{1} << 20;
  // A connection that carries calls is probed when nothing was heard for so long, and given up when
  // the probe is not answered in time: how a peer that vanished without a word is noticed.
  int64_t keepalive_ms = 5'000;
  int64_t keepalive_timeout_ms = 5'000;
  // Listener: threads that read requests and run the service. 0: one per core, at most 8.
  int server_threads = 0;
  // Listener: calls that one connection may have under way; more wait at the sender.
  int max_calls_per_connection = 1024;
  // Listener: memory for requests and connections of all peers together.
  size_t server_memory_bytes = size_t{8} << 30;
};

// Addresses are "host:port", "[ipv6]:port" or "unix:/path". Connections are made at the first call
// and again, with back-off of at most a second, after they broke.
// An error when there is no server, an address is not of these forms, or one is given twice.
StatusOr<std::unique_ptr<Transport>> ConnectGrpc(std::vector<std::string> addresses,
                                                 const GrpcOptions& options);

// Starts to serve at `address`; port 0 lets the system choose. The service must outlive the
// listener. An address that cannot be bound is an error that names it and, where the system tells,
// the process that holds it.
StatusOr<std::unique_ptr<Listener>> ListenGrpc(const std::string& address, Service* service,
                                               const GrpcOptions& options);

}  // namespace flotilla
