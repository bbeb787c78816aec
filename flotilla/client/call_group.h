// Calls to several servers at once, with retries: what every method of ps_client is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/codec.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct RetryOptions {
  // How often a call is sent again after a transient failure.
  int retry_times = 3;
  // The pause before the first repeat; it doubles with each, up to the largest.
  int64_t first_backoff_ms = 50;
  int64_t max_backoff_ms = 2'000;
};

// One request to one server, and what to do with the answer.
struct ServerCall {
  int server = 0;
  Payload request;
  int64_t timeout_ms = 0;
  // Reads the tensors of a successful answer; runs in the thread that waits. May be empty.
  std::function<Status(ResponseMessage& response)> take;
  // Looks at a successful answer first: gives another request where the server asks for one, which
  // is sent in place of this. May be empty.
  std::function<std::optional<Payload>(const wire::ResponseHead& head)> again;
};

// Calls under way. Not thread-safe. Destroyed before Wait has returned, answers are dropped.
class PendingCalls {
 public:
  virtual ~PendingCalls() = default;
  // Waits for all answers and takes them, sending again what failed for a transient reason. Returns
  // the first error that lasts, which names the server; the other answers are then dropped.
  // To be called once.
  virtual Status Wait() = 0;
};

// Sends calls over a transport and keeps the first error that ends the job.
// Thread-safe; the transport must outlive it and everything that Start returned.
class CallSender {
 public:
  CallSender(Transport* transport, const RetryOptions& retry);
  ~CallSender();

  // Sends all calls and returns at once. `what` says in messages what they are for ("push").
  std::unique_ptr<PendingCalls> Start(const char* what, std::vector<ServerCall> calls);
  // Start and Wait.
  Status Run(const char* what, std::vector<ServerCall> calls) {
    return Start(what, std::move(calls))->Wait();
  }

  // Keeps the first error given to it: calls under way and later ones end with it, and on_failure,
  // set before the first call, hears of it.
  void Fail(const Status& error);
  void set_on_failure(std::function<void(const Status&)> on_failure);
  Status status() const;

 private:
  friend class CallGroup;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flotilla
