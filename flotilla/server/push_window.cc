#include "flotilla/server/push_window.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace flotilla {

PushWindow::PushWindow(int trainers, size_t length) : length_(length), trainers_(trainers) {}

bool PushWindow::StartLife(int trainer, uint64_t incarnation) {
  MutexLock lock(mutex_);
  Trainer& t = trainers_[trainer];
  if (t.incarnation == 0) t.incarnation = incarnation;
  return t.incarnation == incarnation;
}

bool PushWindow::HasLife(int trainer) const {
  MutexLock lock(mutex_);
  return trainers_[trainer].incarnation != 0;
}

Status PushWindow::CheckLife(int trainer, uint64_t incarnation) const {
  MutexLock lock(mutex_);
  return CheckLifeLocked(trainer, incarnation);
}

Status PushWindow::CheckLifeLocked(int trainer, uint64_t incarnation) const {
  const uint64_t current = trainers_[trainer].incarnation;
  if (current == 0) {
    // Trainers connect with a handshake first: this one made it with an earlier process.
    return absl::AbortedError(
        fmt::format("does not know trainer {}: the server was restarted and has lost its "
                    "parameters. Restart the job with --resume",
                    trainer));
  }
  if (incarnation == current) return absl::OkStatus();
  return absl::AbortedError(
      fmt::format("another process has joined this run as trainer {}", trainer));
}

PushWindow::Entry* PushWindow::Find(Trainer& trainer, uint64_t sequence) {
  const auto at = std::find_if(trainer.entries.rbegin(), trainer.entries.rend(),
                               [&](const Entry& entry) { return entry.sequence == sequence; });
  return at == trainer.entries.rend() ? nullptr : &*at;
}

// A request that takes long, such as a save, stays until it is done, and does not block later ones.
void PushWindow::Shorten(Trainer& trainer) const {
  while (trainer.entries.size() > length_) {
    const auto done = std::find_if(trainer.entries.begin(), trainer.entries.end(),
                                   [](const Entry& entry) { return entry.make != nullptr; });
    if (done == trainer.entries.end()) return;
    trainer.forgotten = std::max(trainer.forgotten, done->sequence);
    trainer.entries.erase(done);
  }
}

StatusOr<PushWindow::Verdict> PushWindow::Begin(int trainer, uint64_t incarnation,
                                                uint64_t sequence, Respond respond) {
  MakeResponse make;
  {
    MutexLock lock(mutex_);
    FL_RETURN_IF_ERROR(CheckLifeLocked(trainer, incarnation));
    if (sequence == 0) return InvalidArgument("a request that changes something has no sequence");
    Trainer& t = trainers_[trainer];
    Entry* entry = Find(t, sequence);
    if (entry == nullptr) {
      if (sequence <= t.forgotten) {
        return FailedPrecondition("request {} of trainer {} is too old: all up to {} are done",
                                  sequence, trainer, t.forgotten);
      }
      t.entries.push_back({.sequence = sequence, .make = {}, .waiting = {}});
      t.entries.back().waiting.push_back(std::move(respond));
      Shorten(t);
      return Verdict::kNew;
    }
    if (!entry->make) {
      entry->waiting.push_back(std::move(respond));
      return Verdict::kHandled;
    }
    make = entry->make;
  }
  respond(make());
  return Verdict::kHandled;
}

void PushWindow::Finish(int trainer, uint64_t incarnation, uint64_t sequence, bool applied,
                        MakeResponse make) {
  std::vector<Respond> waiting;
  std::vector<Then> after;
  {
    MutexLock lock(mutex_);
    if (applied) ++applied_;
    Trainer& t = trainers_[trainer];
    // A trainer that was restarted meanwhile does not wait for this answer.
    Entry* entry = t.incarnation == incarnation ? Find(t, sequence) : nullptr;
    if (entry == nullptr) return;
    entry->make = make;
    waiting.swap(entry->waiting);
    after = TakeAfter(t, sequence);
  }
  for (const Respond& respond : waiting) respond(make());
  for (const Then& then : after) then();
}

std::vector<PushWindow::Then> PushWindow::TakeAfter(Trainer& trainer, uint64_t sequence) {
  std::vector<Then> taken;
  std::erase_if(trainer.after, [&](auto& waiting) {
    if (waiting.first != sequence) return false;
    taken.push_back(std::move(waiting.second));
    return true;
  });
  return taken;
}

void PushWindow::After(int trainer, uint64_t incarnation, uint64_t sequence, Then then) {
  {
    MutexLock lock(mutex_);
    Trainer& t = trainers_[trainer];
    const Entry* entry = Find(t, sequence);
    const bool finished = entry != nullptr ? entry->make != nullptr : sequence <= t.forgotten;
    if (t.incarnation == incarnation && !finished) {
      t.after.emplace_back(sequence, std::move(then));
      return;
    }
  }
  then();
}

void PushWindow::CallAll() {
  std::vector<std::pair<uint64_t, Then>> all;
  {
    MutexLock lock(mutex_);
    for (Trainer& t : trainers_) {
      std::move(t.after.begin(), t.after.end(), std::back_inserter(all));
      t.after.clear();
    }
  }
  for (const auto& [sequence, then] : all) then();
}

int64_t PushWindow::applied() const {
  MutexLock lock(mutex_);
  return applied_;
}

}  // namespace flotilla
