// Concurrent calls to several servers, with retries: the base of all methods of ps_client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/codec_fwd.h"
#include "flotilla/rpc/payload.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct RetryOptions {
  // Number of retries after a transient failure. Unset: until failures have lasted for CallSender's
  // patience; 3 retries if a deadline passed or the server's process has ended.
  std::optional<int> retry_times;
  // The pause before the first retry; it doubles with each, up to the largest.
  int64_t first_backoff_ms = 50;
  int64_t max_backoff_ms = 1'000;
};

// One request to one server, and the handlers of its answer.
struct ServerCall {
  int server = 0;
  Payload request;
  int64_t timeout_ms = 0;
  // Reads the tensors of a successful answer; runs in the waiting thread. May be empty.
  std::function<Status(ResponseMessage& response)> take;
  // Checks a successful answer first: returns another request if the server asks for one, which is
  // sent instead of this one. May be empty.
  std::function<std::optional<Payload>(const wire::ResponseHead& head)> again;
};

// Calls in flight. Not thread-safe. If it is destroyed before Wait has returned, answers are
// dropped.
class PendingCalls {
 public:
  virtual ~PendingCalls() = default;
  // Waits for all answers and handles them; retries calls that failed for a transient reason.
  // Returns the first permanent error, which names the server; the other answers are then dropped.
  // Call it once.
  virtual Status Wait() = 0;
};

// Callbacks of a sender to its owner, from any thread. All may be empty.
struct CallHooks {
  std::function<void(int server)> heard;                // the server has answered
  std::function<Status(const Status& error)> explain;   // replaces an error
  std::function<void(const Status& error)> job_failed;  // the error that ended the job
};

// Sends calls over a transport and keeps the first error that ends the job.
// Thread-safe; the transport must outlive it and everything that Start returned.
class CallSender {
 public:
  // A call fails if its failures last longer than `patience_ms`, or if it broke ten times after
  // attempts of such a length, unless `retry` gives a number of attempts instead.
  CallSender(Transport* transport, const RetryOptions& retry, int64_t patience_ms);
  ~CallSender();

  // Sends all calls and returns at once. `what` names the operation in messages ("push").
  std::unique_ptr<PendingCalls> Start(const char* what, std::vector<ServerCall> calls);
  // Start and Wait.
  Status Run(const char* what, std::vector<ServerCall> calls) {
    return Start(what, std::move(calls))->Wait();
  }

  // Keeps the first error passed to it: calls in flight and later ones end with it.
  void Fail(const Status& error);
  // REQUIRES: no call was made yet.
  void set_hooks(CallHooks hooks);
  Status status() const;

 private:
  friend class CallGroup;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flotilla
