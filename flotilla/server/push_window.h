// Remembers the last requests of each trainer that changed something, so that a request that was
// sent again, because its answer got lost, takes effect once.
//
// Bounded: a window of sequences per trainer. What is older than the window and not in it is
// refused, never applied a second time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/payload.h"

namespace flotilla {

// Thread-safe.
class PushWindow {
 public:
  using Respond = std::function<void(const Payload& response)>;

  // Makes the answer to a request that was handled. Small things are kept as they are; what is
  // large (dense values) is made afresh when it is asked for again.
  using MakeResponse = std::function<Payload()>;

  using Then = std::function<void()>;

  enum class Verdict {
    kNew,      // handle it, then call Finish
    kHandled,  // it was, or is being handled: it is or will be answered
  };

  // REQUIRES: trainers >= 1, length >= 1.
  PushWindow(int trainers, size_t length);

  // A trainer introduces itself. Its first incarnation is its only one: false for any other. The
  // same one may come again, which changes nothing. REQUIRES: incarnation > 0.
  bool StartLife(int trainer, uint64_t incarnation);
  // Whether an incarnation of this trainer has introduced itself.
  bool HasLife(int trainer) const;

  // An error when the request is of another life (CheckLife) or, FailedPrecondition, too old to be
  // remembered; then `respond` was not used. For kHandled `respond` is called, now or when the
  // first copy is finished.
  StatusOr<Verdict> Begin(int trainer, uint64_t incarnation, uint64_t sequence, Respond respond);

  // Ok when the trainer is in this life, otherwise Aborted.
  Status CheckLife(int trainer, uint64_t incarnation) const;

  // Answers all copies of a request. `applied` tells whether it took effect. REQUIRES: Begin gave
  // kNew for it.
  void Finish(int trainer, uint64_t incarnation, uint64_t sequence, bool applied,
              MakeResponse make);

  // Calls `then` when the request has been finished: at once if it was already, or if its trainer
  // is not in that life. A request that has not come yet is waited for, until CallAll is called.
  void After(int trainer, uint64_t incarnation, uint64_t sequence, Then then);
  // Calls all that wait so.
  void CallAll();

  // Requests that took effect, of all trainers together; repeats are not counted.
  int64_t applied() const;

 private:
  struct Entry {
    uint64_t sequence = 0;
    MakeResponse make;             // empty: being handled
    std::vector<Respond> waiting;  // copies to be answered when it is
  };
  struct Trainer {
    uint64_t incarnation = 0;  // 0: never heard of
    uint64_t forgotten = 0;    // sequences up to it are not remembered any more
    std::deque<Entry> entries;
    std::vector<std::pair<uint64_t, Then>> after;  // a sequence, and who waits for its end
  };

  // Forgets the oldest that are done, until the window has its length.
  void Shorten(Trainer& trainer) const;
  // Takes those that wait for the end of a request.
  static std::vector<Then> TakeAfter(Trainer& trainer, uint64_t sequence);
  static Entry* Find(Trainer& trainer, uint64_t sequence);
  Status CheckLifeLocked(int trainer, uint64_t incarnation) const;

  const size_t length_;
  mutable std::mutex mutex_;
  std::vector<Trainer> trainers_;  // guarded by mutex_
  int64_t applied_ = 0;            // guarded by mutex_
};

}  // namespace flotilla
