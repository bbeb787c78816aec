#include "flotilla/server/liveness.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace flotilla {

namespace {

constexpr int64_t kNanosPerMs = 1'000'000;

}  // namespace

Liveness::Liveness(const LivenessOptions& options, const Clock* clock)
    : options_(options),
      clock_(clock),
      start_nanos_(clock->NowNanos()),
      trainers_(options.trainers) {}

Status Liveness::Join(int trainer) {
  MutexLock lock(mutex_);
  Trainer& t = trainers_[trainer];
  if (t.state == State::kLost) return TakenForDead(trainer);
  if (t.state == State::kExpected) t.state = State::kAlive;
  t.heard_nanos = clock_->NowNanos();
  return absl::OkStatus();
}

Status Liveness::Heard(int trainer) {
  MutexLock lock(mutex_);
  Trainer& t = trainers_[trainer];
  switch (t.state) {
    case State::kExpected:
      return FailedPrecondition("trainer {} has not introduced itself", trainer);
    case State::kLost:
      return TakenForDead(trainer);
    case State::kAlive:
    case State::kStopped:
      break;
  }
  t.heard_nanos = clock_->NowNanos();
  return absl::OkStatus();
}

Status Liveness::TakenForDead(int trainer) const {
  return absl::AbortedError(
      fmt::format("trainer {} was silent for {} ms and taken for dead: it cannot come back",
                  trainer, options_.silent_bound_ms));
}

std::string Liveness::Describe(int trainer) const {
  MutexLock lock(mutex_);
  const Trainer& t = trainers_[trainer];
  if (t.state == State::kStopped) return "it has finished";
  if (t.state == State::kLost) return "it was taken for dead";
  return fmt::format("it was last heard {} ms ago",
                     (clock_->NowNanos() - t.heard_nanos) / kNanosPerMs);
}

void Liveness::Refused(int trainer, const Status& why) {
  MutexLock lock(mutex_);
  trainers_[trainer].refused = why;
}

void Liveness::Stop(int trainer) {
  MutexLock lock(mutex_);
  trainers_[trainer].state = State::kStopped;
  changed_.notify_all();
}

Status Liveness::MissingAtStart(int64_t now_nanos) const {
  if (now_nanos - start_nanos_ < options_.start_timeout_ms * kNanosPerMs) {
    return absl::OkStatus();
  }
  std::string missing, refused;
  for (size_t t = 0; t < trainers_.size(); ++t) {
    const Trainer& trainer = trainers_[t];
    if (trainer.state != State::kExpected) continue;
    missing += (missing.empty() ? "" : ", ") + std::to_string(t);
    if (refused.empty() && !trainer.refused.ok()) {
      refused = fmt::format("; trainer {} was refused: {}", t, Message(trainer.refused));
    }
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::DeadlineExceededError(fmt::format("trainer {} did not connect within {} ms{}",
                                                 missing, options_.start_timeout_ms, refused));
}

std::vector<int> Liveness::Check(int64_t now_nanos) {
  MutexLock lock(mutex_);
  std::vector<int> lost;
  for (size_t t = 0; t < trainers_.size(); ++t) {
    Trainer& trainer = trainers_[t];
    const int64_t silent_ms = (now_nanos - trainer.heard_nanos) / kNanosPerMs;
    if (trainer.state != State::kAlive || silent_ms <= options_.silent_bound_ms) continue;
    trainer.state = State::kLost;
    if (options_.lost_trainer_ends_job) {
      Keep(absl::UnavailableError(
          fmt::format("trainer {} has been silent for {} ms: taken for dead", t, silent_ms)));
    } else {
      lost.push_back(static_cast<int>(t));
    }
    changed_.notify_all();
  }
  if (const Status missing = MissingAtStart(now_nanos); !missing.ok()) Keep(missing);
  // The others continue without the lost ones, but at least one must be left to end the job.
  if (!lost.empty() && std::all_of(trainers_.begin(), trainers_.end(),
                                   [](const Trainer& t) { return t.state == State::kLost; })) {
    Keep(absl::UnavailableError("all trainers have fallen silent"));
  }
  return lost;
}

void Liveness::Forgive(int64_t now_nanos, int64_t paused_nanos) {
  MutexLock lock(mutex_);
  start_nanos_ += paused_nanos;
  for (Trainer& trainer : trainers_) {
    trainer.heard_nanos =
        std::max(trainer.heard_nanos, std::min(now_nanos, trainer.heard_nanos + paused_nanos));
  }
}

void Liveness::Keep(const Status& error) {
  if (error_.ok()) error_ = error;
  changed_.notify_all();
}

void Liveness::Fail(const Status& error) {
  MutexLock lock(mutex_);
  Keep(error);
}

Status Liveness::status() const {
  MutexLock lock(mutex_);
  return error_;
}

void Liveness::Told(int trainer) {
  MutexLock lock(mutex_);
  trainers_[trainer].told = true;
  changed_.notify_all();
}

bool Liveness::AllStopped() const {
  // Lost trainers are not waited for; Check has decided whether their loss is an error.
  return std::all_of(trainers_.begin(), trainers_.end(), [](const Trainer& t) {
    return t.state == State::kStopped || t.state == State::kLost;
  });
}

bool Liveness::AllTold() const {
  return std::none_of(trainers_.begin(), trainers_.end(),
                      [](const Trainer& t) { return t.state == State::kAlive && !t.told; });
}

bool Liveness::AnyHeard(int64_t within_ms) const {
  MutexLock lock(mutex_);
  const int64_t since = clock_->NowNanos() - within_ms * kNanosPerMs;
  return std::any_of(trainers_.begin(), trainers_.end(), [&](const Trainer& t) {
    return t.state == State::kAlive && t.heard_nanos >= since;
  });
}

bool Liveness::WaitForEnd(int64_t max_wait_ms) const {
  MutexLock lock(mutex_);
  return changed_.wait_for(mutex_, std::chrono::milliseconds(max_wait_ms),
                           [this]() FL_REQUIRES(mutex_) { return !error_.ok() || AllStopped(); });
}

bool Liveness::WaitUntilTold(int64_t max_wait_ms) const {
  MutexLock lock(mutex_);
  return changed_.wait_for(mutex_, std::chrono::milliseconds(max_wait_ms),
                           [this]() FL_REQUIRES(mutex_) { return AllTold(); });
}

}  // namespace flotilla
