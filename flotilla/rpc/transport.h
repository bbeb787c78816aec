// How requests reach servers: the interface between client/ and server/ on one side and the
// transfer of bytes on the other. Two implementations: grpc_transport.h (processes) and
// inproc_transport.h (one process, for tests); shared_memory.h and testing/fault_transport.h wrap
// any.
//
// A transport does not know the meaning of the bytes and never repeats a request that a service may
// have seen: only the caller knows whether a request may be handled twice (client/call_group.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// An Unavailable status which says that no process listens at the server's address (the machine is
// reachable, but the server has not started yet, or has ended), and a test for it.
Status NobodyListens(std::string_view message);
bool IsNobodyListening(const Status& status);

// A timeout of a call that means no timeout. The caller needs another way to detect a dead server.
inline constexpr int64_t kNoTimeoutMs = int64_t{365} * 24 * 3600 * 1000;

// Receives the answer to one request, or the error. Called exactly once.
using ReplyCallback = std::function<void(StatusOr<Payload> reply)>;

// The server side: the entry point of all requests. Thread-safe: called from any number of threads.
class Service {
 public:
  virtual ~Service() = default;

  // Handles one request. `reply` is called exactly once, before or after Handle returns, from any
  // thread; a request that must wait stores it and releases the thread. An error passed to `reply`
  // becomes the status of the call at the caller; errors that a caller should interpret are sent
  // inside the payload instead.
  virtual void Handle(Payload request, ReplyCallback reply) = 0;
};

// The trainer side: connections to the servers 0 .. servers() - 1 of a job. Thread-safe.
class Transport {
 public:
  // Closes. REQUIRES: no method is being called.
  virtual ~Transport() = default;

  virtual int servers() const = 0;
  // The name of a server in messages: its address.
  virtual const std::string& address(int server) const = 0;

  // Sends a request and returns at once; any number may be in flight. `done` is called exactly once
  // from a thread of the transport (or from this call when it is closed), must not block for long
  // and must not call Close. Errors name the server's address:
  //   Unavailable        it cannot be reached, or the connection broke: whether the request was
  //                      handled is unknown; IsNobodyListening tells if the process has ended
  //   DeadlineExceeded   no answer within timeout_ms: likewise
  //   ResourceExhausted  the request or the answer is larger than the transport carries
  //   Cancelled          the transport was closed
  // or the error that the service passed to its reply. REQUIRES: 0 <= server < servers(),
  // timeout_ms > 0.
  virtual void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) = 0;

  // Ends all calls in flight with Cancelled, as well as later ones. When it returns every `done`
  // has been called. Idempotent.
  virtual void Close() = 0;
};

// A server that accepts requests for a service until it is closed.
class Listener {
 public:
  // Closes.
  virtual ~Listener() = default;

  // The address for trainers, with the port that the system chose if none was given.
  virtual const std::string& address() const = 0;

  // Accepts no more requests, waits up to grace_ms for those in progress, then drops them. When
  // it returns no thread of the listener is in the service. Idempotent.
  virtual void Close(int64_t grace_ms) = 0;
};

}  // namespace flotilla
