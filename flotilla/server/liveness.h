// Which trainers a server serves, whether they are alive, and how the job ends: well when all have
// stopped, or with the first error, which everyone is then told.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"

namespace flotilla {

struct LivenessOptions {
  int trainers = 1;
  // A trainer that said nothing for so long is taken for dead.
  int64_t silent_bound_ms = 10'000;
  // What its death means: the end of the job, or that the others go on without it.
  bool lost_trainer_ends_job = true;
  // Every trainer must have introduced itself within this time.
  int64_t start_timeout_ms = 300'000;
};

// Thread-safe. Time comes from the clock alone; Check must be called every now and then, with a
// time of that clock.
class Liveness {
 public:
  Liveness(const LivenessOptions& options, const Clock* clock);

  // Signs of life. Join is a trainer's handshake, or a repeat of it. Aborted of one that was taken
  // for dead, which cannot come back; Heard of one that never joined is FailedPrecondition.
  Status Join(int trainer);
  Status Heard(int trainer);
  // How a trainer that has joined fares, for messages: "it was last heard 20 ms ago".
  std::string Describe(int trainer) const;
  // An introduction that was not accepted: told again when the trainer is missed.
  void Refused(int trainer, const Status& why);
  // The trainer has ended well.
  void Stop(int trainer);

  // Takes trainers that are silent at that time for dead, and misses those that never came. Returns
  // those that died since the last call when the others go on without them (none when their death
  // ends the job).
  std::vector<int> Check(int64_t now_nanos);
  // This process has not run for so long, until now: nobody is to blame for silence in it.
  void Forgive(int64_t now_nanos, int64_t paused_nanos);

  // Keeps the first error given to it, which ends the job.
  void Fail(const Status& error);
  // Ok, or the error that ended the job.
  Status status() const;
  // The trainer has been told of the error.
  void Told(int trainer);

  // Whether a trainer that has neither stopped nor died said something within the last so many
  // milliseconds.
  bool AnyHeard(int64_t within_ms) const;

  // Waits until all trainers have stopped or the job failed. False when max_wait_ms was over first.
  bool WaitForEnd(int64_t max_wait_ms) const;
  // Waits until every trainer that is alive has been told of the failure. False likewise.
  bool WaitUntilTold(int64_t max_wait_ms) const;

 private:
  enum class State { kExpected, kAlive, kStopped, kLost };
  struct Trainer {
    State state = State::kExpected;
    int64_t heard_nanos = 0;
    bool told = false;
    Status refused;  // the last introduction that was not accepted
  };

  // All REQUIRE: mutex_ is held.
  Status TakenForDead(int trainer) const;
  bool AllStopped() const;
  bool AllTold() const;
  void Keep(const Status& error);
  Status MissingAtStart(int64_t now_nanos) const;

  const LivenessOptions options_;
  const Clock* const clock_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  int64_t start_nanos_;
  std::vector<Trainer> trainers_;
  Status error_;
};

}  // namespace flotilla
