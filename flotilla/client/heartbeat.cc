#include "flotilla/client/heartbeat.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "flotilla/rpc/codec.h"

namespace flotilla {

struct Heartbeat::Peer {
  std::atomic<int64_t> heard_nanos = 0;
  std::atomic<bool> under_way = false;  // a ping
};

Heartbeat::Heartbeat(Transport* transport, const HeartbeatOptions& options, const Clock* clock,
                     std::function<Payload()> ping, std::function<void(const Status&)> fail)
    : transport_(transport),
      options_(options),
      clock_(clock),
      ping_(std::move(ping)),
      fail_(std::move(fail)) {
  for (int s = 0; s < transport->servers(); ++s) peers_.push_back(std::make_shared<Peer>());
}

Heartbeat::~Heartbeat() { Stop(); }

void Heartbeat::Start() {
  for (const auto& peer : peers_) peer->heard_nanos = clock_->NowNanos();
  thread_ = std::thread([this] { Loop(); });
}

void Heartbeat::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::Loop() {
  const auto interval = std::chrono::milliseconds(options_.interval_ms);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    for (int s = 0; s < transport_->servers(); ++s) Ping(s);
    CheckServers();
    lock.lock();
    wake_.wait_for(lock, interval, [this] { return stop_; });
  }
}

void Heartbeat::Ping(int server) {
  const std::shared_ptr<Peer> peer = peers_[server];
  if (peer->under_way.exchange(true)) return;
  const int64_t timeout_ms = std::max<int64_t>(1, options_.silent_bound_ms / 3);
  transport_->Call(server, ping_(), timeout_ms, [this, peer, server](StatusOr<Payload> reply) {
    peer->under_way = false;
    if (!reply.ok()) return;  // silence, so far
    peer->heard_nanos = clock_->NowNanos();
    const StatusOr<ResponseMessage> response = DecodeResponse(*std::move(reply));
    const Status status = response.ok() ? StatusOf(response->head) : response.status();
    if (status.ok()) return;
    fail_(Annotate(status, fmt::format("server {} ({})", server, transport_->address(server))));
  });
}

void Heartbeat::CheckServers() {
  for (int s = 0; s < transport_->servers(); ++s) {
    const int64_t silent_ms = (clock_->NowNanos() - peers_[s]->heard_nanos) / 1'000'000;
    if (silent_ms <= options_.silent_bound_ms) continue;
    fail_(
        absl::UnavailableError(fmt::format("server {} ({}) has been silent for {} ms: taken for "
                                           "dead",
                                           s, transport_->address(s), silent_ms)));
  }
}

}  // namespace flotilla
