// A server: makes the tables, listens, and serves until the last trainer has stopped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/transport.h"
#include "flotilla/server/ps_service.h"

namespace flotilla {

struct PsServerOptions {
  PsServiceOptions service;
  // Called before the server listens, to load a model at the start. Start returns its error. Empty:
  // nothing to do.
  std::function<Status(PsService& service)> prepare;
  // After a failure: how long to wait for trainers to be notified.
  int64_t told_timeout_ms = 5'000;
  // How long the last answers may take to be sent.
  int64_t close_grace_ms = 2'000;
};

// Thread-safe.
class PsServer {
 public:
  // Starts to listen for a service: ListenGrpc, or a listener of an InprocNetwork.
  using Listen = std::function<StatusOr<std::unique_ptr<Listener>>(Service* service)>;

  // Makes the tables; serves when it returns. An error says what is wrong in the model, or which
  // address cannot be bound and why.
  static StatusOr<std::unique_ptr<PsServer>> Start(const ModelSpec& spec, PsServerOptions options,
                                                   const Listen& listen, const Clock* clock,
                                                   LogLine log);
  // Stops.
  ~PsServer();

  const std::string& address() const { return listener_->address(); }
  PsService& service() { return *service_; }

  // Returns when every trainer has stopped (Ok) or the job has failed (its first error) and the
  // trainers were notified. The server has then stopped.
  Status Wait();

  // Stops serving immediately; calls in progress are dropped, as if the process were killed. Wait
  // returns at once: Cancelled, unless the job had ended.
  void Stop();

 private:
  PsServer(PsServerOptions options, std::unique_ptr<PsService> service);

  void TickLoop();
  bool stopped();
  void Close(int64_t grace_ms);

  const PsServerOptions options_;
  const std::unique_ptr<PsService> service_;
  std::unique_ptr<Listener> listener_;

  Mutex mutex_;
  CondVar wake_;
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  std::thread ticker_;
};

}  // namespace flotilla
