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
  // How often a call is sent again after a transient failure. Unset: until its failures have lasted
  // for CallSender's patience; 3 times when a deadline passed or the server's process has ended.
  std::optional<int> retry_times;
  // The pause before the first repeat; it doubles with each, up to the largest.
  int64_t first_backoff_ms = 50;
  int64_t max_backoff_ms = 1'000;
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

// What a sender tells its owner, from any thread. All may be empty.
struct CallHooks {
  std::function<void(int server)> heard;                // an answer came from the server
  std::function<Status(const Status& error)> explain;   // what to return in place of an error
  std::function<void(const Status& error)> job_failed;  // the error that ended the job
};

// Sends calls over a transport and keeps the first error that ends the job.
// Thread-safe; the transport must outlive it and everything that Start returned.
class CallSender {
 public:
  // A call whose failures last for longer than `patience_ms`, or that broke ten times after
  // attempts of such a length, fails, unless `retry` has a number of attempts instead.
  CallSender(Transport* transport, const RetryOptions& retry, int64_t patience_ms);
  ~CallSender();

  // Sends all calls and returns at once. `what` says in messages what they are for ("push").
  std::unique_ptr<PendingCalls> Start(const char* what, std::vector<ServerCall> calls);
  // Start and Wait.
  Status Run(const char* what, std::vector<ServerCall> calls) {
    return Start(what, std::move(calls))->Wait();
  }

  // Keeps the first error given to it: calls under way and later ones end with it.
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
