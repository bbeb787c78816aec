// Remembers the last requests of each trainer that changed something, so that a request that is
// sent again, because its answer was lost, takes effect exactly once.
//
// Bounded: a window of sequences per trainer. A request that is older than the window is rejected,
// never applied a second time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// Thread-safe.
class PushWindow {
 public:
  using Respond = std::function<void(const Payload& response)>;

  // Makes the answer to a request that was handled. Small answers are stored; large ones (dense
  // values) are made again if the request is repeated.
  using MakeResponse = std::function<Payload()>;

  using Then = std::function<void()>;

  enum class Verdict {
    kNew,      // handle it, then call Finish
    kHandled,  // handled, or being handled: it is or will be answered
  };

  // REQUIRES: trainers >= 1, length >= 1.
  PushWindow(int trainers, size_t length);

  // Handshake of a trainer. Only its first incarnation is accepted: returns false for any other.
  // The same one may join again, which changes nothing. REQUIRES: incarnation > 0.
  bool StartLife(int trainer, uint64_t incarnation);
  // Whether an incarnation of this trainer has joined.
  bool HasLife(int trainer) const;

  // An error if the request is from another incarnation (CheckLife) or, FailedPrecondition, too old
  // to be remembered; then `respond` is not called. For kHandled `respond` is called, now or when
  // the first copy is finished.
  StatusOr<Verdict> Begin(int trainer, uint64_t incarnation, uint64_t sequence, Respond respond);

  // Ok if the trainer has this incarnation, otherwise Aborted.
  Status CheckLife(int trainer, uint64_t incarnation) const;

  // Answers all copies of a request. `applied` says whether it took effect. REQUIRES: Begin
  // returned kNew for it.
  void Finish(int trainer, uint64_t incarnation, uint64_t sequence, bool applied,
              MakeResponse make);

  // Calls `then` when the request is finished: at once if it is already, or if its trainer does not
  // have that incarnation. If the request has not arrived yet, waits for it until CallAll is
  // called.
  void After(int trainer, uint64_t incarnation, uint64_t sequence, Then then);
  // Calls all waiting callbacks of After.
  void CallAll();

  // Number of requests of all trainers that took effect; repeats are not counted.
  int64_t applied() const;

 private:
  struct Entry {
    uint64_t sequence = 0;
    MakeResponse make;             // empty while it is being handled
    std::vector<Respond> waiting;  // copies to be answered when it is finished
  };
  struct Trainer {
    uint64_t incarnation = 0;  // 0: has not joined
    uint64_t forgotten = 0;    // sequences up to it are no longer remembered
    std::deque<Entry> entries;
    std::vector<std::pair<uint64_t, Then>> after;  // a sequence, and a callback for its end
  };

  // Drops the oldest finished requests, until the window has its length.
  void Shorten(Trainer& trainer) const;
  // Takes the callbacks that wait for the end of a request.
  static std::vector<Then> TakeAfter(Trainer& trainer, uint64_t sequence);
  static Entry* Find(Trainer& trainer, uint64_t sequence);
  Status CheckLifeLocked(int trainer, uint64_t incarnation) const FL_REQUIRES(mutex_);

  const size_t length_;
  mutable Mutex mutex_;
  std::vector<Trainer> trainers_ FL_GUARDED_BY(mutex_);
  int64_t applied_ FL_GUARDED_BY(mutex_) = 0;
};

}  // namespace flotilla
