// The loop: rounds are read, computed and pushed, with as much ahead of them as the communicator's
// schedule says. Where workers are free each runs the loop by itself, with no
// barrier; where they are joined it runs once, and its rounds are of all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/trainer/pause_point.h"
#include "flotilla/trainer/round.h"

namespace flotilla {

struct RoundLoopOptions {
  // A round was computed; what it found is there until its next Read. `first` is the number of its
  // first worker. In the loop's thread, as the next.
  std::function<void(int first, const Round& round)> computed;
  // .. and what it led to was pushed. May be empty.
  std::function<void(int first, const Round& round)> pushed;

  // Asked after every round, by any loop: whether at_pause is to be called as soon as every loop
  // stands between two rounds. Its error ends the loops. May be empty.
  std::function<bool()> want_pause;
  std::function<Status()> at_pause;
  // Asked after every round, by any loop. Once true, every loop ends after the round it is in. May
  // be empty.
  std::function<bool()> stop;
};

// Not thread-safe; one call at a time.
class RoundLoop {
 public:
  using Rounds = std::vector<std::unique_ptr<Round>>;

  // REQUIRES: everything pointed to outlives the object; the pool has the workers of the rounds.
  RoundLoop(Communicator* communicator, const Clock* clock, WorkerPool* pool,
            RoundLoopOptions options);

  // How many loops there are: one for each worker, or one for all.
  int loops() const { return schedule_.joined ? 1 : pool_->workers(); }
  // How many rounds a loop needs.
  int depth() const { return schedule_.ahead == Schedule::Ahead::kPull ? 2 : 1; }
  const Schedule& schedule() const { return schedule_; }

  // Goes on until there is nothing to read. rounds[l] are those of loop l. The first error ends all
  // loops, each at its next round, and is returned.
  Status Run(std::span<const Rounds> rounds);

 private:
  Status RunLoop(int l, const Rounds& rounds);
  // Between two rounds: pauses if somebody wants it. False when the loop is to end here.
  StatusOr<bool> BetweenRounds();
  void AskForPause();
  bool StopWanted() const { return options_.stop && options_.stop(); }
  // What was read is trained before a pause or a stop, so nothing is read ahead of one.
  bool MayReadAhead() const { return !pause_.requested() && !StopWanted(); }

  Communicator* const communicator_;
  const Clock* const clock_;
  WorkerPool* const pool_;
  const RoundLoopOptions options_;
  const Schedule schedule_;
  PausePoint pause_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  Status first_error_;  // guarded by mutex_
};

}  // namespace flotilla
