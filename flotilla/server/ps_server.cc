#include "flotilla/server/ps_server.h"

#include <chrono>
#include <utility>

namespace flotilla {

PsServer::PsServer(PsServerOptions options, std::unique_ptr<PsService> service)
    : options_(std::move(options)), service_(std::move(service)) {}

StatusOr<std::unique_ptr<PsServer>> PsServer::Start(const ModelSpec& spec, PsServerOptions options,
                                                    const Listen& listen, const Clock* clock,
                                                    LogLine log) {
  FL_ASSIGN_OR_RETURN(auto service, PsService::Make(spec, options.service, clock, std::move(log)));
  std::unique_ptr<PsServer> server(new PsServer(std::move(options), std::move(service)));
  if (server->options_.prepare) {
    FL_RETURN_IF_ERROR(server->options_.prepare(*server->service_));
  }
  FL_ASSIGN_OR_RETURN(server->listener_, listen(server->service_.get()));
  server->ticker_ = std::thread([server = server.get()] { server->TickLoop(); });
  return server;
}

PsServer::~PsServer() {
  Stop();
  if (ticker_.joinable()) ticker_.join();
}

void PsServer::TickLoop() {
  MutexLock lock(mutex_);
  while (!wake_.wait_for(mutex_, std::chrono::milliseconds(options_.service.tick_ms),
                         [this]() FL_REQUIRES(mutex_) { return stop_; })) {
    lock.unlock();
    service_->Tick();
    lock.lock();
  }
}

Status PsServer::Wait() {
  // In short waits, to notice a call of Stop.
  constexpr int64_t kLookMs = 100;
  const Liveness& liveness = service_->liveness();
  while (!liveness.WaitForEnd(kLookMs)) {
    if (stopped()) return absl::CancelledError("the server was stopped");
  }
  for (int64_t waited_ms = 0; !liveness.status().ok() && waited_ms < options_.told_timeout_ms;
       waited_ms += kLookMs) {
    if (stopped() || liveness.WaitUntilTold(kLookMs)) break;
  }
  Close(options_.close_grace_ms);
  return liveness.status();
}

bool PsServer::stopped() {
  MutexLock lock(mutex_);
  return stop_;
}

void PsServer::Stop() { Close(0); }

void PsServer::Close(int64_t grace_ms) {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (listener_ != nullptr) listener_->Close(grace_ms);
}

}  // namespace flotilla
