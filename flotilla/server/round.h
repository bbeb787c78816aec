// One update per round from the gradients of all trainers: the apply-on-barrier policy.
//
// Gradients are added in trainer order: a trainer's part is added only after those of all trainers
// before it, so one accumulator serves any number of trainers and the sum has the same bits in
// every run, for any number of servers. Parts that arrive early wait; beyond a memory bound only
// their position is kept and the trainer sends them again when it is its turn. A trainer without
// data leaves, and rounds continue with the others; the sum is divided by the number of trainers in
// the round. A trainer that has nothing to add to a round pushes an empty part, and the sum is
// divided by the number of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/server/peer_wait.h"
#include "flotilla/server/round_sum.h"
#include "flotilla/server/server_tables.h"

namespace flotilla {

struct RoundOptions {
  int trainers = 1;
  // Maximum number of bytes of early parts that are kept, for all trainers together.
  size_t max_waiting_bytes = size_t{256} << 20;
};

// The result of a trainer's push into a round.
struct RoundResult {
  Status status;
  int64_t step = 0;           // the global step of the round's update
  uint64_t pauses_asked = 0;  // when the update was made: the same for all trainers of the round
  bool send_again = false;    // it is the trainer's turn now, but its part was not kept
};

// Thread-safe. Callbacks are called without locks held, from the thread that completes a round.
class Rounds {
 public:
  using Done = std::function<void(const RoundResult& result)>;

  // `apply` makes the update of a round and returns the result for its trainers.
  Rounds(const RoundOptions& options, const ServerTables* tables, const Clock* clock,
         std::function<RoundResult(const RoundPart& mean)> apply);

  // Waits for all trainers of the job (those that Lose has not taken out) and puts them into the
  // rounds from now on. Then calls `done`.
  void Enter(int trainer, Done done);
  // The trainer does not take part in the current round, unless it has already pushed, nor in later
  // ones. Once every trainer has left, there are no rounds until all enter again.
  void Leave(int trainer);
  // The same for a trainer that is lost: Enter does not wait for it either.
  void Lose(int trainer);

  // Adds a trainer's part to the current round. `done` is called when the update of the round is
  // made. An error if the trainer is not in the rounds or has already pushed into this one.
  void Push(int trainer, RoundPart part, Done done);

  // The wait of the trainer, if it is waiting.
  std::optional<PeerWait> WaitOf(int trainer) const;
  // Ends all waits, and later calls, with this error.
  void Fail(const Status& error);

 private:
  struct Waiting {
    Done done;
    int64_t since_nanos = 0;
    std::optional<RoundPart> part;  // empty: not kept, or already added
    bool added = false;
  };
  using Calls = std::vector<std::function<void()>>;

  // Runs change(calls) under the mutex, then makes the calls that it appended.
  template <typename Change>
  void Do(Change change);
  bool InRound(int trainer) const FL_REQUIRES(mutex_) {
    return active_[trainer] || pushes_.contains(trainer);
  }
  bool NextInTurn(int trainer) const FL_REQUIRES(mutex_);
  // Adds the waiting parts in trainer order; makes the update when no trainer is missing.
  void Advance(Calls* calls) FL_REQUIRES(mutex_);
  void FinishRound(Calls* calls) FL_REQUIRES(mutex_);
  void EnterIfAll(Calls* calls) FL_REQUIRES(mutex_);
  // Ends the wait of a trainer, if any, with an error.
  static void Forget(int trainer, std::map<int, Waiting>* waits, Calls* calls);

  // Constant after construction.
  const RoundOptions options_;
  const Clock* const clock_;
  const std::function<RoundResult(const RoundPart&)> apply_;

  mutable Mutex mutex_;
  RoundSum sum_ FL_GUARDED_BY(mutex_);
  std::vector<bool> active_ FL_GUARDED_BY(mutex_);         // in the rounds
  std::vector<bool> lost_ FL_GUARDED_BY(mutex_);           // lost: Enter does not wait for it
  std::map<int, Waiting> pushes_ FL_GUARDED_BY(mutex_);    // of the current round, by trainer
  std::map<int, Waiting> entering_ FL_GUARDED_BY(mutex_);  // waiting calls of Enter, by trainer
  size_t waiting_bytes_ FL_GUARDED_BY(mutex_) = 0;
  Status error_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
