#include "flotilla/trainer/round_loop.h"

#include <utility>

#include "flotilla/kernels/denormals.h"

namespace flotilla {

RoundLoop::RoundLoop(Communicator* communicator, const Clock* clock, WorkerPool* pool,
                     RoundLoopOptions options)
    : communicator_(communicator),
      clock_(clock),
      pool_(pool),
      options_(std::move(options)),
      schedule_(communicator->schedule()) {}

Status RoundLoop::Run(std::span<const Rounds> rounds) {
  FirstError error;
  pause_.Start(loops());
  const auto run = [&](int l) {
    const kernels::FlushDenormals flush;
    error.Update(RunLoop(l, rounds[static_cast<size_t>(l)], error));
    error.Update(pause_.Leave(options_.at_pause));
  };
  // A joined round runs its workers itself, with Run of the pool.
  if (schedule_.joined) {
    run(0);
  } else {
    pool_->Run(run);
  }
  return error.status();
}

Status RoundLoop::RunLoop(int l, const Rounds& rounds, const FirstError& error) {
  using Ahead = Schedule::Ahead;
  const Ahead ahead = schedule_.ahead;
  Round* now = rounds.front().get();
  Round* next = rounds.back().get();  // the same round, unless two are in progress at a time
  for (Round* round : {now, next}) round->Clear();
  while (!error.any()) {
    if (now->batches() == 0) {
      FL_RETURN_IF_ERROR(now->Read());
      if (now->batches() == 0) break;
      if (ahead == Ahead::kPull) FL_RETURN_IF_ERROR(now->StartPulls());
    }
    if (ahead == Ahead::kPull && MayReadAhead()) {
      FL_RETURN_IF_ERROR(next->Read());
      FL_RETURN_IF_ERROR(next->StartPulls());
    }
    FL_ASSIGN_OR_RETURN(Gradients* const gradients, now->Compute());
    Lane& lane = now->lane(0);
    Pending push;
    if (gradients != nullptr) {
      FL_ASSIGN_OR_RETURN(push, StartPush(*gradients, now->steps(), lane));
    } else if (now->results().front().dropped) {
      FL_ASSIGN_OR_RETURN(push, communicator_->StartSkip(lane.worker));
    }
    options_.computed(l, *now);
    if (ahead != Ahead::kNothing) AskForPause();
    if ((ahead == Ahead::kRead || ahead == Ahead::kPullBehindPush) && MayReadAhead()) {
      FL_RETURN_IF_ERROR(next->Read());
      if (ahead == Ahead::kPullBehindPush) FL_RETURN_IF_ERROR(next->StartPulls());
    }
    const int64_t ready = clock_->NowNanos();
    FL_RETURN_IF_ERROR(push.Wait());
    lane.times.push += clock_->NowNanos() - ready;
    if (options_.pushed) options_.pushed(l, *now);
    std::swap(now, next);
    if (now->batches() > 0) continue;
    FL_ASSIGN_OR_RETURN(const bool go_on, BetweenRounds());
    if (!go_on) break;
  }
  return absl::OkStatus();
}

void RoundLoop::AskForPause() {
  if (options_.want_pause && options_.want_pause()) pause_.Request();
}

StatusOr<bool> RoundLoop::BetweenRounds() {
  AskForPause();
  FL_RETURN_IF_ERROR(pause_.Arrive(options_.at_pause));
  return !StopWanted();
}

}  // namespace flotilla
