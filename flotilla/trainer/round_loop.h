// The training loop: rounds are read, computed and pushed, with the read-ahead that the
// communicator's schedule asks for. Free workers each run their own loop, without a barrier; for
// joined workers there is one loop, whose rounds comprise all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/first_error.h"
#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/trainer/pause_point.h"
#include "flotilla/trainer/round.h"

namespace flotilla {

struct RoundLoopOptions {
  // Called after a round was computed; its results are valid until its next Read. `first` is the
  // index of its first worker. Called in the loop's thread, like the next one.
  std::function<void(int first, const Round& round)> computed;
  // Called after the gradients of a round were pushed. May be empty.
  std::function<void(int first, const Round& round)> pushed;

  // Called after every round, by any loop. If it returns true, at_pause is called as soon as every
  // loop is between two rounds. The error of at_pause ends the loops. May be empty.
  std::function<bool()> want_pause;
  std::function<Status()> at_pause;
  // Called after every round, by any loop. Once it returns true, every loop ends after its current
  // round. May be empty.
  std::function<bool()> stop;
};

// Not thread-safe; one call at a time.
class RoundLoop {
 public:
  using Rounds = std::vector<std::unique_ptr<Round>>;

  // REQUIRES: everything pointed to outlives the object; the pool has the workers of the rounds.
  RoundLoop(Communicator* communicator, const Clock* clock, WorkerPool* pool,
            RoundLoopOptions options);

  // The number of loops: one per worker, or one for all.
  int loops() const { return schedule_.joined ? 1 : pool_->workers(); }
  // The number of rounds that a loop needs.
  int depth() const { return schedule_.ahead == Schedule::Ahead::kPull ? 2 : 1; }
  const Schedule& schedule() const { return schedule_; }

  // Runs until there is nothing left to read. rounds[l] are the rounds of loop l. The first error
  // ends all loops, each at its next round, and is returned.
  Status Run(std::span<const Rounds> rounds);

 private:
  Status RunLoop(int l, const Rounds& rounds, const FirstError& error);
  // Between two rounds: pauses if requested. Returns false if the loop must end here.
  StatusOr<bool> BetweenRounds();
  void AskForPause();
  bool StopWanted() const { return options_.stop && options_.stop(); }
  // Batches that were read are trained before a pause or a stop, so there is no read-ahead before
  // one.
  bool MayReadAhead() const { return !pause_.requested() && !StopWanted(); }

  Communicator* const communicator_;
  const Clock* const clock_;
  WorkerPool* const pool_;
  const RoundLoopOptions options_;
  const Schedule schedule_;
  PausePoint pause_;
};

}  // namespace flotilla
