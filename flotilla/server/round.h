// One update per round from the gradients of all trainers: the apply-on-barrier policy.
//
// Gradients are added in trainer order: a trainer's part is added only after those of all trainers
// before it, so one accumulator serves any number of trainers and the sum has the same bits in
// every run, for any number of servers. Parts that arrive early wait; beyond a bound only their
// place in the queue is kept and the trainer sends them again when its turn has come. A trainer
// without data leaves, and rounds go on with the others; the sum is divided by the trainers that
// were in the round.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/server/peer_wait.h"
#include "flotilla/server/round_sum.h"
#include "flotilla/server/server_tables.h"

namespace flotilla {

struct RoundOptions {
  int trainers = 1;
  // Bytes of early parts that are kept, all trainers together.
  size_t max_waiting_bytes = size_t{256} << 20;
};

// What a trainer's push into a round came to.
struct RoundResult {
  Status status;
  int64_t step = 0;         // the global step of the round's update
  bool send_again = false;  // it is the trainer's turn now, but its part was not kept
};

// Thread-safe. Callbacks are called without locks held, from whichever thread completes a round.
class Rounds {
 public:
  using Done = std::function<void(const RoundResult& result)>;

  // `apply` makes the update of a round and returns its global step.
  Rounds(const RoundOptions& options, const ServerTables* tables, const Clock* clock,
         std::function<StatusOr<int64_t>(const RoundPart& mean)> apply);

  // Waits for all trainers of the job (those that Lose has not taken out) and puts them into the
  // rounds from now on. `done` hears of it.
  void Enter(int trainer, Done done);
  // The trainer takes no part in the current round, unless it has pushed already, nor in later
  // ones. Once every trainer has left, nothing happens until all enter again.
  void Leave(int trainer);
  // The same for a trainer that is gone for good: Enter does not wait for it either.
  void Lose(int trainer);

  // A trainer's part of the current round. `done` is called when the round's update is made.
  // An error when the trainer is not in the rounds or has pushed into this one already.
  void Push(int trainer, RoundPart part, Done done);

  // What the trainer waits in, if it does.
  std::optional<PeerWait> WaitOf(int trainer) const;
  // Ends all waits, and later calls, with this error.
  void Fail(const Status& error);

 private:
  struct Waiting {
    Done done;
    int64_t since_nanos = 0;
    std::optional<RoundPart> part;  // empty: not kept, or added already
    bool added = false;
  };
  using Calls = std::vector<std::function<void()>>;

  // Runs change(calls) under the mutex, then makes the calls that it appended.
  template <typename Change>
  void Do(Change change);
  // All REQUIRE: mutex_ is held. Calls to make after it is released are appended to `calls`.
  bool InRound(int trainer) const { return active_[trainer] || pushes_.contains(trainer); }
  bool NextInTurn(int trainer) const;
  // Adds what waits in turn; makes the update when nobody is missing.
  void Advance(Calls* calls);
  void FinishRound(Calls* calls);
  void EnterIfAll(Calls* calls);
  // Ends a trainer's wait, if it is there, with an error.
  static void Forget(int trainer, std::map<int, Waiting>* waits, Calls* calls);

  // Constant after construction.
  const RoundOptions options_;
  const Clock* const clock_;
  const std::function<StatusOr<int64_t>(const RoundPart&)> apply_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  RoundSum sum_;
  std::vector<bool> active_;         // in the rounds
  std::vector<bool> lost_;           // gone: Enter does not wait for it
  std::map<int, Waiting> pushes_;    // of the current round, by trainer
  std::map<int, Waiting> entering_;  // likewise of Enter
  size_t waiting_bytes_ = 0;
  Status error_;
};

}  // namespace flotilla
