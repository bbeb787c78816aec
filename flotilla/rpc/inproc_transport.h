// The transport within one process: threads instead of sockets, with the contract of transport.h.
// Only for tests that run a whole cluster in one process: payloads are passed without copying.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flotilla/rpc/transport.h"

namespace flotilla {

class InprocEndpoint;

// Connects the listeners and transports of one process, by names instead of addresses. Thread-safe.
// Listeners and transports keep the parts that they need alive.
class InprocNetwork {
 public:
  InprocNetwork();
  ~InprocNetwork();
  InprocNetwork(const InprocNetwork&) = delete;
  InprocNetwork& operator=(const InprocNetwork&) = delete;

  // Serves under a name, with `threads` threads. AlreadyExists if a listener has the name.
  // The service must outlive the listener.
  StatusOr<std::unique_ptr<Listener>> Listen(const std::string& name, Service* service,
                                             int threads = 2);

  // A transport to the servers of these names, which need not listen yet: calls to a name
  // without a listener are Unavailable.
  std::unique_ptr<Transport> Connect(std::vector<std::string> names);

 private:
  friend class InprocTransport;
  friend class InprocListener;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flotilla
