// The transport between processes: gRPC over TCP or unix sockets. Only this header and its sources
// use gRPC.
//
// One request is one stream of the connection: the payload goes out in chunks, the answer comes
// back in chunks (docs/wire_protocol.md). Slices are passed to gRPC without copying, so on the way
// out only the kernel copies tensors; received data is kept in gRPC's slices and copied once, by
// the reader of the payload. Proxies of the environment are ignored.
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
  // Larger payloads are rejected, when sending and, before memory is allocated, when receiving.
  size_t max_message_bytes = size_t{1} << 30;
  // Payloads are split into chunks of this size.
  size_t chunk_bytes = size_t{1} << 20;
  // Keepalive: a connection with active calls is probed if nothing was received for this time, and
  // closed if the probe is not answered in time. This detects connections that broke silently.
  // Probes wait behind data, so the time is long: a slow link is not broken. Dead peers are
  // detected sooner, by pings over a separate connection (ControlOptions).
  int64_t keepalive_ms = 10'000;
  int64_t keepalive_timeout_ms = 120'000;
  // Transport: the longest pause between two attempts to connect.
  int64_t max_backoff_ms = 1'000;
  // Listener: threads that read requests and run the service. 0: one per core, at most 8.
  int server_threads = 0;
  // Listener: maximum number of calls in flight per connection; more wait at the sender.
  int max_calls_per_connection = 1024;
  // Listener: memory for requests and connections of all peers together.
  size_t server_memory_bytes = size_t{8} << 30;
};

// Options of a connection for pings and other short messages that must not wait behind data, on
// which silence is allowed for `silent_bound_ms`. A connection that is stuck, for example after a
// network outage, is closed and reopened well within that time.
GrpcOptions ControlOptions(int64_t silent_bound_ms);

// Addresses are "host:port", "[ipv6]:port" or "unix:/path". Connections are opened at the first
// call and reopened, with back-off, after they broke. Each transport has its own connections. An
// error if there is no server, an address does not have one of these forms, or one is given twice.
StatusOr<std::unique_ptr<Transport>> ConnectGrpc(std::vector<std::string> addresses,
                                                 const GrpcOptions& options);

// Starts to serve at `address`; port 0 lets the system choose. The service must outlive the
// listener. An address that cannot be bound is an error that names it and, if the system tells,
// the process that holds it.
StatusOr<std::unique_ptr<Listener>> ListenGrpc(const std::string& address, Service* service,
                                               const GrpcOptions& options);

}  // namespace flotilla
