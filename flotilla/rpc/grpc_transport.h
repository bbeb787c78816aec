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
  // the probe is not answered in time: how a connection is noticed that broke without a word.
  // Probes wait behind data, so the time is long: a slow link is not broken. Whether a peer is
  // alive is noticed sooner, by pings over a connection of their own (ControlOptions).
  int64_t keepalive_ms = 10'000;
  int64_t keepalive_timeout_ms = 120'000;
  // Transport: the longest pause between two attempts to connect.
  int64_t max_backoff_ms = 1'000;
  // Listener: threads that read requests and run the service. 0: one per core, at most 8.
  int server_threads = 0;
  // Listener: calls that one connection may have under way; more wait at the sender.
  int max_calls_per_connection = 1024;
  // Listener: memory for requests and connections of all peers together.
  size_t server_memory_bytes = size_t{8} << 30;
};

// Of a connection for pings and other short messages that must not wait behind data, where silence
// is allowed for `silent_bound_ms`. A connection that is stuck, after an outage of the network for
// example, is given up and made anew well within that time.
GrpcOptions ControlOptions(int64_t silent_bound_ms);

// Addresses are "host:port", "[ipv6]:port" or "unix:/path". Connections are made at the first call
// and again, with back-off, after they broke. Each transport has connections of its own. An error
// when there is no server, an address is not of these forms, or one is given twice.
StatusOr<std::unique_ptr<Transport>> ConnectGrpc(std::vector<std::string> addresses,
                                                 const GrpcOptions& options);

// Starts to serve at `address`; port 0 lets the system choose. The service must outlive the
// listener. An address that cannot be bound is an error that names it and, where the system tells,
// the process that holds it.
StatusOr<std::unique_ptr<Listener>> ListenGrpc(const std::string& address, Service* service,
                                               const GrpcOptions& options);

}  // namespace flotilla
