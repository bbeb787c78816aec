// The beginning and the end of a client: handshake with the servers, stop, abort.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/rpc/codec.h"
#include "flotilla/rpc/model_text.h"

namespace flotilla {

namespace {
constexpr size_t kMaxCauseBytes = 64 << 10;  // limit of an error message to servers

constexpr int64_t kTellEveryMs = 3'000;
// The pause between two attempts to reach a server; it doubles each time.
constexpr int64_t kFirstPauseMs = 5;
constexpr int64_t kMaxPauseMs = 200;
constexpr int64_t kHandshakeTimeoutMs = 5'000;
// How long an error may take to reach the servers when this process ends.
constexpr int64_t kAbortTimeoutMs = 2'000;
// The control connection is made anew after at most three such pauses (grpc_transport.cc).
constexpr int64_t kAbortPauseMs = 100;
// After so many repeats a server whose address refuses connections is not told: it has ended.
constexpr int kAbortRepeats = 5;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

// Abort requests in flight.
struct PsClient::Aborts {
  Mutex mutex;
  CondVar changed;
  Payload request FL_GUARDED_BY(mutex);
  int under_way FL_GUARDED_BY(mutex) = 0;
  std::vector<int> missed FL_GUARDED_BY(mutex);  // servers to tell again
  int repeats FL_GUARDED_BY(mutex) = 0;
  std::optional<steady_clock::time_point> end FL_GUARDED_BY(mutex);  // of the wait for them

  // The answer may come when the client is gone.
  static void Send(const std::shared_ptr<Aborts>& aborts, Transport* transport, int server) {
    Payload request;
    {
      MutexLock lock(aborts->mutex);
      request = aborts->request;
      ++aborts->under_way;
    }
    transport->Call(
        server, std::move(request), kAbortTimeoutMs,
        [aborts, server](const StatusOr<Payload>& reply) { aborts->Take(server, reply.status()); });
  }

  void Take(int server, const Status& status) {
    MutexLock lock(mutex);
    --under_way;
    const bool ended = IsNobodyListening(status) && repeats >= kAbortRepeats;
    if (absl::IsUnavailable(status) && !ended) missed.push_back(server);
    changed.notify_all();
  }
};

std::shared_ptr<PsClient::Aborts> PsClient::MakeAborts() { return std::make_shared<Aborts>(); }

Status PsClient::TryHandshakes(int64_t timeout_ms, std::vector<bool>* ready) {
  struct Answers {
    explicit Answers(size_t servers) : replies(servers, absl::UnavailableError("")) {}
    Mutex mutex;
    CondVar changed;
    int under_way FL_GUARDED_BY(mutex) = 0;
    std::vector<StatusOr<Payload>> replies FL_GUARDED_BY(mutex);
  };
  auto answers = std::make_shared<Answers>(ready->size());
  for (int s = 0; s < servers(); ++s) {
    if ((*ready)[s]) continue;
    wire::RequestHead head = MakeHead(wire::METHOD_HANDSHAKE);
    head.mutable_handshake()->set_servers(static_cast<uint32_t>(servers()));
    head.mutable_handshake()->set_trainers(static_cast<uint32_t>(options_.trainers));
    head.mutable_handshake()->set_server_index(static_cast<uint32_t>(s));
    head.mutable_handshake()->set_model_text(ModelText(spec_, options_.model_extra));
    {
      MutexLock lock(answers->mutex);
      ++answers->under_way;
    }
    transport_->Call(s, EncodeRequest(std::move(head), {}), timeout_ms,
                     [answers, s](StatusOr<Payload> reply) {
                       MutexLock lock(answers->mutex);
                       answers->replies[s] = std::move(reply);
                       --answers->under_way;
                       answers->changed.notify_all();
                     });
  }
  MutexLock lock(answers->mutex);
  while (answers->under_way > 0) answers->changed.wait(answers->mutex);
  Status first_error;
  for (int s = 0; s < servers(); ++s) {
    const StatusOr<Payload>& reply = answers->replies[s];
    if ((*ready)[s] || absl::IsUnavailable(reply.status()) ||
        absl::IsDeadlineExceeded(reply.status())) {
      continue;
    }
    const Status status = TakeHandshake(s, reply);
    (*ready)[s] = status.ok();
    if (first_error.ok()) {
      first_error = Annotate(status, fmt::format("server {} ({})", s, transport_->address(s)));
    }
  }
  return first_error;
}

Status PsClient::TakeHandshake(int server, const StatusOr<Payload>& reply) {
  FL_RETURN_IF_ERROR(reply.status());
  FL_ASSIGN_OR_RETURN(const ResponseMessage response, DecodeResponse(*reply));
  FL_RETURN_IF_ERROR(StatusOf(response.head));
  const wire::HandshakeResponse& answer = response.head.handshake();
  uint64_t& life = server_lives_[server];
  if (life != 0 && life != answer.server_life()) {
    return absl::AbortedError(
        "was restarted and has lost its parameters. Restart the job with --resume");
  }
  life = answer.server_life();
  FL_RETURN_IF_ERROR(SeeStep(answer.global_step()));
  next_collective_[server] = answer.next_collective();
  seed_ = answer.seed();
  return absl::OkStatus();
}

std::string PsClient::NotReady(const std::vector<bool>& ready) const {
  std::string missing;
  for (int s = 0; s < servers(); ++s) {
    if (ready[s]) continue;
    missing +=
        fmt::format("{}server {} ({})", missing.empty() ? "" : ", ", s, transport_->address(s));
  }
  return missing;
}

Status PsClient::WaitForServers(int64_t start_timeout_ms, const std::function<bool()>& stop) {
  const Status status = MeetServers(start_timeout_ms, stop);
  if (!status.ok()) {
    Abort(status);
    return status;
  }
  heartbeat_.Start();
  return status;
}

Status PsClient::MeetServers(int64_t start_timeout_ms, const std::function<bool()>& stop) {
  const auto start = steady_clock::now();
  const auto deadline = start + milliseconds(start_timeout_ms);
  auto tell_at = start + milliseconds(kTellEveryMs);
  auto greet_at = start;
  // A server that does not answer must not make this trainer silent to the others for long.
  const int64_t patience_ms =
      std::clamp<int64_t>(options_.heartbeat.silent_bound_ms / 3, 1, kHandshakeTimeoutMs);
  std::vector<bool> ready(servers());
  for (int64_t pause_ms = kFirstPauseMs;; pause_ms = std::min(kMaxPauseMs, 2 * pause_ms)) {
    auto now = steady_clock::now();
    if (now >= greet_at) {
      // Servers that are ready are contacted again, because this trainer does not ping yet; they
      // report if the job has failed meanwhile.
      ready.assign(ready.size(), false);
      greet_at = now + milliseconds(options_.heartbeat.interval_ms);
    }
    FL_RETURN_IF_ERROR(TryHandshakes(patience_ms, &ready));
    const std::string missing = NotReady(ready);
    if (missing.empty()) return absl::OkStatus();
    if (stop && stop()) return absl::CancelledError("stopped while waiting for " + missing);
    now = steady_clock::now();
    if (now >= deadline) {
      return absl::UnavailableError(
          fmt::format("not ready within {} ms: {}", start_timeout_ms, missing));
    }
    if (now >= tell_at) {
      if (log_) log_("waiting for " + missing);
      tell_at += milliseconds(kTellEveryMs);
    }
    std::this_thread::sleep_until(std::min(deadline, now + milliseconds(pause_ms)));
  }
}

Status PsClient::Stop(bool asked) {
  heartbeat_.Stop();
  wire::RequestHead head = MakeHead(wire::METHOD_STOP);
  head.mutable_stop()->set_asked(asked);
  std::vector<ServerCall> calls;
  for (int s = 0; s < servers(); ++s) {
    calls.push_back(MakeCall(s, head, {}));
    // Silence is no longer monitored.
    int64_t& timeout_ms = calls.back().timeout_ms;
    timeout_ms = std::min(timeout_ms, options_.heartbeat.silent_bound_ms);
  }
  const Status status = calls_.Run("stop", std::move(calls));
  // A server that is gone was notified: its answer was lost, and it was the last one to be told.
  return absl::IsUnavailable(status) && calls_.status().ok() ? absl::OkStatus() : status;
}

void PsClient::Abort(const Status& cause) {
  calls_.Fail(cause);
  WaitForAborts();
}

void PsClient::TellServers(const Status& error) {
  wire::RequestHead head = MakeHead(wire::METHOD_ABORT);
  head.mutable_abort()->set_code(static_cast<uint32_t>(error.code()));
  head.mutable_abort()->set_message(std::string(Message(error).substr(0, kMaxCauseBytes)));
  {
    MutexLock lock(aborts_->mutex);
    aborts_->request = EncodeRequest(std::move(head), {});
  }
  for (int s = 0; s < servers(); ++s) {
    if (server_lives_[s] == 0) continue;  // it may serve another process with this trainer's index
    Aborts::Send(aborts_, control(), s);
  }
}

void PsClient::WaitForAborts() {
  Aborts& aborts = *aborts_;
  MutexLock lock(aborts.mutex);
  if (!aborts.end.has_value()) aborts.end = steady_clock::now() + milliseconds(kAbortTimeoutMs);
  const auto end = *aborts.end;
  while (aborts.changed.wait_until(aborts.mutex, end, [&]() FL_REQUIRES(aborts.mutex) {
    return aborts.under_way == 0 || !aborts.missed.empty();
  })) {
    if (aborts.missed.empty() || steady_clock::now() >= end) return;
    // The connection has broken: the server may have been restarted, and would wait for trainers.
    const std::vector<int> missed = std::exchange(aborts.missed, {});
    ++aborts.repeats;
    lock.unlock();
    std::this_thread::sleep_for(milliseconds(kAbortPauseMs));
    for (const int server : missed) Aborts::Send(aborts_, control(), server);
    lock.lock();
  }
}

}  // namespace flotilla
