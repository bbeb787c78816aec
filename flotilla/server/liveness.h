// The trainers of a server, whether they are alive, and how the job ends: successfully when all
// have stopped, or with the first error, which is then reported to all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"

namespace flotilla {

struct LivenessOptions {
  int trainers = 1;
  // A trainer that is silent for this long is considered dead.
  int64_t silent_bound_ms = 10'000;
  // Whether its death ends the job, or the others continue without it.
  bool lost_trainer_ends_job = true;
  // Every trainer must have introduced itself within this time.
  int64_t start_timeout_ms = 300'000;
};

// Thread-safe. All times are of the clock; Check must be called periodically, with a time of that
// clock.
class Liveness {
 public:
  Liveness(const LivenessOptions& options, const Clock* clock);

  // Signs of life. Join is a trainer's handshake, or a repeat of it. Aborted for a trainer that was
  // considered dead, which cannot come back; Heard of a trainer that never joined is
  // FailedPrecondition.
  Status Join(int trainer);
  Status Heard(int trainer);
  // The state of a trainer that has joined, for messages: "it was last heard 20 ms ago".
  std::string Describe(int trainer) const;
  // Records a rejected handshake, for the error message if the trainer does not connect in time.
  void Refused(int trainer, const Status& why);
  // The trainer has ended successfully.
  void Stop(int trainer);

  // Marks trainers that are silent at that time as dead, and detects those that never connected.
  // Returns the trainers that died since the last call if the others continue without them (none if
  // their death ends the job).
  std::vector<int> Check(int64_t now_nanos);
  // This process was paused for this long, until now: silence during the pause does not count.
  void Forgive(int64_t now_nanos, int64_t paused_nanos);

  // Keeps the first error given to it, which ends the job.
  void Fail(const Status& error);
  // Ok, or the error that ended the job.
  Status status() const;
  // The trainer has been notified of the error.
  void Told(int trainer);

  // Whether a trainer that has neither stopped nor died was heard within the last within_ms.
  bool AnyHeard(int64_t within_ms) const;

  // Waits until all trainers have stopped or the job failed. Returns false if max_wait_ms passed
  // first.
  bool WaitForEnd(int64_t max_wait_ms) const;
  // Waits until every live trainer has been notified of the failure. Returns false if max_wait_ms
  // passed first.
  bool WaitUntilTold(int64_t max_wait_ms) const;

 private:
  enum class State { kExpected, kAlive, kStopped, kLost };
  struct Trainer {
    State state = State::kExpected;
    int64_t heard_nanos = 0;
    bool told = false;
    Status refused;  // the last rejected handshake
  };

  Status TakenForDead(int trainer) const;
  bool AllStopped() const FL_REQUIRES(mutex_);
  bool AllTold() const FL_REQUIRES(mutex_);
  void Keep(const Status& error) FL_REQUIRES(mutex_);
  Status MissingAtStart(int64_t now_nanos) const FL_REQUIRES(mutex_);

  const LivenessOptions options_;
  const Clock* const clock_;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  int64_t start_nanos_ FL_GUARDED_BY(mutex_);
  std::vector<Trainer> trainers_ FL_GUARDED_BY(mutex_);
  Status error_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
