// How requests reach servers: the contract between client/ and server/ on one side and a way to
// carry bytes on the other. Two implementations: grpc_transport.h (processes) and
// inproc_transport.h (one process, for tests); shared_memory.h and testing/fault_transport.h wrap
// any.
//
// It knows nothing of what the bytes mean and never repeats a request that a service may have seen:
// whether one may be handled twice is known only above (client/call_group.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// Unavailable because the server's machine says that no process listens at its address: not out of
// reach, but not started yet, or ended.
Status NobodyListens(std::string_view message);
bool IsNobodyListening(const Status& status);

// As the timeout of a call: none. The caller needs another way to learn that a server has died.
inline constexpr int64_t kNoTimeoutMs = int64_t{365} * 24 * 3600 * 1000;

// Takes the answer to one request, or the reason why there is none. Called exactly once.
using ReplyCallback = std::function<void(StatusOr<Payload> reply)>;

// The server's end: one entry for all requests. Thread-safe: called from any number of threads.
class Service {
 public:
  virtual ~Service() = default;

  // Handles one request. `reply` is called exactly once, before or after Handle returns, from any
  // thread; a request that must wait keeps it and lets the thread go. An error given to `reply`
  // reaches the caller as the status of its call; what a caller should understand travels inside
  // the payload instead.
  virtual void Handle(Payload request, ReplyCallback reply) = 0;
};

// The trainer's end: connections to the servers 0 .. servers() - 1 of a job. Thread-safe.
class Transport {
 public:
  // Closes. REQUIRES: no call of a method is under way.
  virtual ~Transport() = default;

  virtual int servers() const = 0;
  // What messages call a server: its address.
  virtual const std::string& address(int server) const = 0;

  // Sends a request and returns at once; any number may be under way. `done` is called exactly once
  // from a thread of the transport (or from this call when it is closed), must not block for long
  // and must not call Close. Errors name the server's address:
  //   Unavailable        it cannot be reached, or the connection broke: whether the request was
  //                      handled is unknown; IsNobodyListening tells when the process has ended
  //   DeadlineExceeded   no answer within timeout_ms: likewise
  //   ResourceExhausted  the request or the answer is larger than the transport carries
  //   Cancelled          the transport was closed
  // or what the service gave to its reply. REQUIRES: 0 <= server < servers(), timeout_ms > 0.
  virtual void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) = 0;

  // Ends all calls under way with Cancelled, as well as later ones. When it returns every `done`
  // has been called. Idempotent.
  virtual void Close() = 0;
};

// A server that accepts requests for a service until it is closed.
class Listener {
 public:
  // Closes.
  virtual ~Listener() = default;

  // Where trainers reach it, with the port that the system chose where none was given.
  virtual const std::string& address() const = 0;

  // Accepts no more requests, gives those under way grace_ms to be answered, then drops them. When
  // it returns no thread of the listener is in the service. Idempotent.
  virtual void Close(int64_t grace_ms) = 0;
};

}  // namespace flotilla
