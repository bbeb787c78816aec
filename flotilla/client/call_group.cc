#include "flotilla/client/call_group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/codec.h"

namespace flotilla {

namespace {

using Time = std::chrono::steady_clock::time_point;

// Retries of calls to a server that was up and whose address now refuses connections: its process
// has ended. Also of calls that have a deadline, which the next attempt would not meet either.
constexpr int kFewRepeats = 3;
// Maximum number of outages of one call, each after an attempt that lasted long: a connection that
// breaks every time will never complete it.
constexpr int kMaxOutages = 10;

bool IsTransient(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

struct CallSender::State {
  Transport* transport = nullptr;
  RetryOptions retry;
  std::chrono::milliseconds patience;
  CallHooks hooks;

  Mutex mutex;  // also of the slots of all groups
  CondVar changed;
  Status error FL_GUARDED_BY(mutex);
};

// The slots are shared with the callbacks of the transport, which may outlive the group.
class CallGroup : public PendingCalls {
 public:
  CallGroup(std::shared_ptr<CallSender::State> state, const char* what,
            std::vector<ServerCall> calls)
      : state_(std::move(state)), what_(what) {
    for (ServerCall& call : calls) {
      slots_.push_back(std::make_shared<Slot>());
      slots_.back()->call = std::move(call);
    }
    for (const auto& slot : slots_) Send(slot);
  }

  Status Wait() override {
    MutexLock lock(state_->mutex);
    while (state_->error.ok()) {
      std::shared_ptr<Slot> answered, paused;
      bool all_done = true;
      for (const auto& slot : slots_) {
        all_done = all_done && slot->stage == Stage::kDone;
        if (slot->stage == Stage::kAnswered) answered = slot;
        if (slot->stage == Stage::kPausing &&
            (paused == nullptr || slot->resend_at < paused->resend_at)) {
          paused = slot;
        }
      }
      if (all_done) return absl::OkStatus();
      if (answered != nullptr) {
        lock.unlock();
        FL_RETURN_IF_ERROR(TakeAnswer(answered));
        lock.lock();
      } else if (paused == nullptr) {
        state_->changed.wait(state_->mutex);
      } else if (state_->changed.wait_until(state_->mutex, paused->resend_at) ==
                 std::cv_status::timeout) {
        lock.unlock();
        Send(paused);
        lock.lock();
      }
    }
    return state_->error;
  }

 private:
  enum class Stage { kUnderWay, kAnswered, kPausing, kDone };
  struct Slot {
    ServerCall call;
    // Used by the waiting thread.
    int attempts = 0;
    Time sent_at;
    int outages = 0;     // number of series of consecutive failures
    Time first_failure;  // first failure of the last series
    Time resend_at;
    // Guarded by State::mutex while the call is in flight.
    Stage stage = Stage::kUnderWay;
    StatusOr<Payload> reply = absl::UnknownError("");
  };

  void Send(const std::shared_ptr<Slot>& slot) {
    ++slot->attempts;
    slot->sent_at = std::chrono::steady_clock::now();
    {
      MutexLock lock(state_->mutex);
      slot->stage = Stage::kUnderWay;
    }
    state_->transport->Call(slot->call.server, slot->call.request, slot->call.timeout_ms,
                            [state = state_, slot](StatusOr<Payload> reply) {
                              if (reply.ok() && state->hooks.heard) {
                                state->hooks.heard(slot->call.server);
                              }
                              MutexLock lock(state->mutex);
                              slot->reply = std::move(reply);
                              slot->stage = Stage::kAnswered;
                              state->changed.notify_all();
                            });
  }

  Status TakeAnswer(const std::shared_ptr<Slot>& slot) {
    if (!slot->reply.ok()) return PauseOrGiveUp(slot, slot->reply.status());
    StatusOr<ResponseMessage> response = DecodeResponse(*std::move(slot->reply));
    if (!response.ok()) return Final(*slot, response.status());
    if (const Status status = StatusOf(response->head); !status.ok()) {
      const Status error = Final(*slot, status);
      if (response->head.job_failed()) Fail(state_, error);
      return error;
    }
    if (slot->call.again) {
      if (std::optional<Payload> request = slot->call.again(response->head)) {
        slot->call.request = *std::move(request);
        slot->attempts = slot->outages = 0;
        Send(slot);
        return absl::OkStatus();
      }
    }
    if (slot->call.take) {
      if (const Status status = slot->call.take(*response); !status.ok()) {
        return Final(*slot, status);
      }
    }
    SetStage(slot.get(), Stage::kDone);
    return absl::OkStatus();
  }

  Status PauseOrGiveUp(const std::shared_ptr<Slot>& slot, const Status& error) {
    const RetryOptions& retry = state_->retry;
    const Time now = std::chrono::steady_clock::now();
    if (slot->attempts == 1 || now - slot->sent_at > state_->patience) {
      slot->first_failure = now;
      ++slot->outages;
    }
    if (!MayRepeat(*slot, error, now)) {
      const std::string tried =
          slot->attempts > 1 ? fmt::format(", tried {} times", slot->attempts) : "";
      return Explain(
          Annotate(error, fmt::format("{}: server {}{}", what_, slot->call.server, tried)));
    }
    const int64_t pause_ms =
        std::min(retry.max_backoff_ms, retry.first_backoff_ms << std::min(slot->attempts - 1, 20));
    slot->resend_at = now + std::chrono::milliseconds(pause_ms);
    SetStage(slot.get(), Stage::kPausing);
    return absl::OkStatus();
  }

  bool MayRepeat(const Slot& slot, const Status& error, Time now) const {
    if (!IsTransient(error)) return false;
    const std::optional<int> times = state_->retry.retry_times;
    if (times.has_value()) return slot.attempts <= *times;
    if (IsNobodyListening(error) || absl::IsDeadlineExceeded(error)) {
      return slot.attempts <= kFewRepeats;
    }
    return slot.outages <= kMaxOutages && now - slot.first_failure < state_->patience;
  }

  Status Explain(const Status& error) const {
    return state_->hooks.explain ? state_->hooks.explain(error) : error;
  }

  // The error in an answer, or the error of reading it.
  Status Final(const Slot& slot, const Status& error) const {
    const int server = slot.call.server;
    return Explain(Annotate(error, fmt::format("{}: server {} ({})", what_, server,
                                               state_->transport->address(server))));
  }

  void SetStage(Slot* slot, Stage stage) {
    MutexLock lock(state_->mutex);
    slot->stage = stage;
  }

 public:
  // Keeps the first error and wakes all waiting threads.
  static void Fail(const std::shared_ptr<CallSender::State>& state, const Status& error) {
    {
      MutexLock lock(state->mutex);
      if (!state->error.ok()) return;
      state->error = error;
      state->changed.notify_all();
    }
    if (state->hooks.job_failed) state->hooks.job_failed(error);
  }

 private:
  const std::shared_ptr<CallSender::State> state_;
  const char* const what_;
  std::vector<std::shared_ptr<Slot>> slots_;
};

CallSender::CallSender(Transport* transport, const RetryOptions& retry, int64_t patience_ms)
    : state_(std::make_shared<State>()) {
  state_->transport = transport;
  state_->retry = retry;
  state_->patience = std::chrono::milliseconds(patience_ms);
}

CallSender::~CallSender() = default;

std::unique_ptr<PendingCalls> CallSender::Start(const char* what, std::vector<ServerCall> calls) {
  if (!status().ok()) calls.clear();  // Wait returns the error
  return std::make_unique<CallGroup>(state_, what, std::move(calls));
}

void CallSender::Fail(const Status& error) { CallGroup::Fail(state_, error); }

void CallSender::set_hooks(CallHooks hooks) { state_->hooks = std::move(hooks); }

Status CallSender::status() const {
  MutexLock lock(state_->mutex);
  return state_->error;
}

}  // namespace flotilla
