#include "flotilla/server/round.h"

#include <utility>

namespace flotilla {

namespace {

std::vector<int64_t> DimsOf(const ModelSpec& spec) {
  std::vector<int64_t> dims;
  for (const TableSpec& table : spec.tables) dims.push_back(table.dim);
  return dims;
}

}  // namespace

Rounds::Rounds(const RoundOptions& options, const ServerTables* tables, const Clock* clock,
               std::function<RoundResult(const RoundPart&)> apply)
    : options_(options),
      clock_(clock),
      apply_(std::move(apply)),
      sum_(DimsOf(tables->spec()), tables->range().size(), tables->StatisticRanges()),
      active_(options.trainers),
      lost_(options.trainers) {
  sum_.Start();
}

// Callbacks may call this object, so they run after the lock is released.
template <typename Change>
void Rounds::Do(Change change) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    change(&calls);
  }
  for (const auto& call : calls) call();
}

void Rounds::Enter(int trainer, Done done) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    if (!error_.ok()) {
      return calls->push_back([done, error = error_] { done({.status = error}); });
    }
    active_[trainer] = false;
    Forget(trainer, &entering_, calls);
    entering_[trainer] = {.done = std::move(done), .since_nanos = clock_->NowNanos(), .part = {}};
    Advance(calls);
    EnterIfAll(calls);
  });
}

void Rounds::EnterIfAll(Calls* calls) {
  if (entering_.empty()) return;
  for (int t = 0; t < options_.trainers; ++t) {
    if (!lost_[t] && !entering_.contains(t)) return;
  }
  for (auto& [trainer, waiting] : entering_) {
    active_[trainer] = true;
    calls->push_back([done = std::move(waiting.done)] { done({}); });
  }
  entering_.clear();
}

void Rounds::Leave(int trainer) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    active_[trainer] = false;
    Advance(calls);
  });
}

void Rounds::Lose(int trainer) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    lost_[trainer] = true;
    active_[trainer] = false;
    Forget(trainer, &entering_, calls);
    // A part that was added stays: it is already in the sum of the round.
    if (const auto at = pushes_.find(trainer); at != pushes_.end() && !at->second.added) {
      if (at->second.part.has_value()) waiting_bytes_ -= at->second.part->memory_bytes();
      Forget(trainer, &pushes_, calls);
    }
    Advance(calls);
    EnterIfAll(calls);
  });
}

void Rounds::Forget(int trainer, std::map<int, Waiting>* waits, Calls* calls) {
  const auto at = waits->find(trainer);
  if (at == waits->end()) return;
  const Status over = FailedPrecondition("trainer {} does not wait for this any more", trainer);
  calls->push_back([done = std::move(at->second.done), over] { done({.status = over}); });
  waits->erase(at);
}

bool Rounds::NextInTurn(int trainer) const {
  for (int t = 0; t < trainer; ++t) {
    if (!InRound(t)) continue;
    const auto at = pushes_.find(t);
    if (at == pushes_.end() || !at->second.added) return false;
  }
  return true;
}

void Rounds::Push(int trainer, RoundPart part, Done done) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    Status refused = error_;
    if (refused.ok() && !active_[trainer]) {
      refused =
          FailedPrecondition("trainer {} pushed into a round that it has not entered", trainer);
    }
    if (refused.ok() && pushes_.contains(trainer)) {
      refused = FailedPrecondition("trainer {} pushed twice into one round", trainer);
    }
    if (!refused.ok()) {
      return calls->push_back([done, refused] { done({.status = refused}); });
    }
    Waiting waiting{.done = std::move(done), .since_nanos = clock_->NowNanos(), .part = {}};
    const size_t bytes = part.memory_bytes();
    if (NextInTurn(trainer) || waiting_bytes_ + bytes <= options_.max_waiting_bytes) {
      waiting_bytes_ += bytes;
      waiting.part = std::move(part);
    }
    pushes_[trainer] = std::move(waiting);
    Advance(calls);
  });
}

void Rounds::Advance(Calls* calls) {
  if (!error_.ok()) return;
  for (int t = 0; t < options_.trainers; ++t) {
    if (!InRound(t)) continue;
    const auto at = pushes_.find(t);
    if (at == pushes_.end()) return;
    Waiting& waiting = at->second;
    if (waiting.added) continue;
    if (!waiting.part.has_value()) {
      calls->push_back([done = std::move(waiting.done)] { done({.send_again = true}); });
      pushes_.erase(at);
      return;
    }
    if (!waiting.part->empty) sum_.Add(*waiting.part);
    waiting_bytes_ -= waiting.part->memory_bytes();
    waiting.part.reset();
    waiting.added = true;
  }
  if (!pushes_.empty()) FinishRound(calls);
}

void Rounds::FinishRound(Calls* calls) {
  const RoundResult result = apply_(sum_.parts() > 0 ? sum_.Mean() : RoundPart{.empty = true});
  for (auto& [trainer, waiting] : pushes_) {
    calls->push_back([done = std::move(waiting.done), result] { done(result); });
  }
  pushes_.clear();
  sum_.Start();
}

std::optional<PeerWait> Rounds::WaitOf(int trainer) const {
  MutexLock lock(mutex_);
  const auto find = [&](const std::map<int, Waiting>& waits, const char* what,
                        const std::function<bool(int)>& wanted) -> std::optional<PeerWait> {
    const auto at = waits.find(trainer);
    if (at == waits.end()) return std::nullopt;
    PeerWait wait{.what = what, .missing = {}, .since_nanos = at->second.since_nanos};
    for (int t = 0; t < options_.trainers; ++t) {
      if (wanted(t) && !waits.contains(t)) wait.missing.push_back(t);
    }
    return wait;
  };
  auto wait =
      find(pushes_, "a round of pushes", [this](int t) FL_REQUIRES(mutex_) { return active_[t]; });
  if (wait.has_value()) return wait;
  return find(entering_, "the start of rounds",
              [this](int t) FL_REQUIRES(mutex_) { return !lost_[t]; });
}

void Rounds::Fail(const Status& error) {
  Do([&](Calls* calls) FL_REQUIRES(mutex_) {
    if (error_.ok()) error_ = error;
    for (auto* waits : {&pushes_, &entering_}) {
      for (auto& [trainer, waiting] : *waits) {
        calls->push_back([done = std::move(waiting.done), error] { done({.status = error}); });
      }
      waits->clear();
    }
    waiting_bytes_ = 0;
  });
}

}  // namespace flotilla
