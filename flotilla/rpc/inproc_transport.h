// The transport within one process: threads and no sockets, the contract of transport.h. For tests
// that hold a whole cluster, and for nothing else: payloads are handed over as they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flotilla/rpc/transport.h"

namespace flotilla {

class InprocEndpoint;

// Where listeners and transports of one process meet: names instead of addresses. Thread-safe.
// Listeners and transports keep what they need of it alive.
class InprocNetwork {
 public:
  InprocNetwork();
  ~InprocNetwork();
  InprocNetwork(const InprocNetwork&) = delete;
  InprocNetwork& operator=(const InprocNetwork&) = delete;

  // Serves under a name, with `threads` threads of its own. AlreadyExists when a listener has it.
  // The service must outlive the listener.
  StatusOr<std::unique_ptr<Listener>> Listen(const std::string& name, Service* service,
                                             int threads = 2);

  // A transport to the servers of these names, which need not listen yet: calls to a name that
  // nobody serves are Unavailable.
  std::unique_ptr<Transport> Connect(std::vector<std::string> names);

 private:
  friend class InprocTransport;
  friend class InprocListener;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flotilla
