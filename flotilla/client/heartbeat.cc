#include "flotilla/client/heartbeat.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "flotilla/rpc/codec.h"

namespace flotilla {

namespace {

constexpr int64_t kNanosPerMs = 1'000'000;
constexpr int64_t kTellEveryNanos = 30'000 * kNanosPerMs;
// An answer that takes longer than this arrives no earlier than those to later pings.
constexpr int64_t kMaxPingMs = 30'000;

}  // namespace

Heartbeat::Heartbeat(Transport* transport, const HeartbeatOptions& options, const Clock* clock,
                     std::function<Payload()> ping, std::function<void(const Status&)> fail,
                     Asks asks, LogLine log)
    : transport_(transport),
      options_(options),
      clock_(clock),
      ping_(std::move(ping)),
      fail_(std::move(fail)),
      asks_(std::move(asks)),
      log_(std::move(log)),
      heard_nanos_(static_cast<size_t>(transport->servers())),
      watch_(options.interval_ms, options.silent_bound_ms / 4) {}

Heartbeat::~Heartbeat() { Stop(); }

void Heartbeat::Start() {
  for (int s = 0; s < transport_->servers(); ++s) Heard(s);
  thread_ = std::thread([this] { Loop(); });
}

void Heartbeat::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Heartbeat::Heard(int server) { heard_nanos_[server] = clock_->NowNanos(); }

void Heartbeat::Loop() {
  const auto interval = std::chrono::milliseconds(options_.interval_ms);
  MutexLock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    // Read the clock only once: a pause that begins after that is detected by the next check.
    const int64_t now = clock_->NowNanos();
    if (const int64_t paused = watch_.Look(now); paused > 0) NotePause(now, paused);
    for (int s = 0; s < transport_->servers(); ++s) Ping(s);
    CheckServers(now);
    lock.lock();
    wake_.wait_for(mutex_, interval, [this]() FL_REQUIRES(mutex_) { return stop_; });
  }
}

void Heartbeat::Ping(int server) {
  const int64_t timeout_ms = std::clamp<int64_t>(options_.silent_bound_ms, 1, kMaxPingMs);
  transport_->Call(server, ping_(), timeout_ms, [this, server](StatusOr<Payload> reply) {
    if (!reply.ok()) return;  // counts as silence
    Heard(server);
    const StatusOr<ResponseMessage> response = DecodeResponse(*std::move(reply));
    const Status status = response.ok() ? StatusOf(response->head) : response.status();
    if (status.ok()) {
      asks_(server, response->head.ping().pauses_asked(), response->head.ping().stop_cause());
      return TellWait(response->head.ping().waiting());
    }
    fail_(Annotate(status, fmt::format("server {} ({})", server, transport_->address(server))));
  });
}

void Heartbeat::TellWait(std::string_view waiting) {
  if (waiting.empty() || !log_) return;
  // Several servers may report the same wait.
  const int64_t now = clock_->NowNanos();
  int64_t told = told_wait_nanos_;
  if (told != 0 && now - told < kTellEveryNanos) return;
  if (told_wait_nanos_.compare_exchange_strong(told, now)) log_(waiting);
}

void Heartbeat::NotePause(int64_t now_nanos, int64_t paused_nanos) {
  pause_nanos_ = paused_nanos;
  pause_end_nanos_ = now_nanos;
  for (std::atomic<int64_t>& heard_nanos : heard_nanos_) {
    int64_t heard = heard_nanos;
    // An answer that arrives meanwhile is newer than the time that would be written here.
    heard_nanos.compare_exchange_strong(heard, std::min(now_nanos, heard + paused_nanos));
  }
  if (log_) log_(fmt::format("this process was paused for {:.1f} s", paused_nanos / 1e9));
}

int64_t Heartbeat::RecentPauseNanos() const {
  const int64_t bound = options_.silent_bound_ms * kNanosPerMs;
  const int64_t now = clock_->NowNanos();
  MutexLock lock(mutex_);
  int64_t pause = stop_ ? 0 : watch_.Late(now);  // stopped: no more checks
  if (now - pause_end_nanos_ <= bound / 2) pause = std::max<int64_t>(pause, pause_nanos_);
  // Time before the pause after the last ping, and after it until the next ping, is silence too.
  return pause + 2 * options_.interval_ms * kNanosPerMs >= bound ? pause : 0;
}

void Heartbeat::CheckServers(int64_t now_nanos) {
  for (int s = 0; s < transport_->servers(); ++s) {
    const int64_t silent_ms = (now_nanos - heard_nanos_[s]) / kNanosPerMs;
    if (silent_ms <= options_.silent_bound_ms) continue;
    fail_(
        absl::UnavailableError(fmt::format("server {} ({}) has been silent for {} ms: taken for "
                                           "dead",
                                           s, transport_->address(s), silent_ms)));
  }
}

}  // namespace flotilla
