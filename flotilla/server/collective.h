// Collective operations of the trainers through a server: gather, sum, exchange. A barrier is a
// gather of empty values.
//
// Trainers make the same collective calls in the same order and count them. A call completes when
// every trainer that has not stopped has made it; its result is kept until the next one completes,
// for trainers whose answer was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/codec.h"
#include "flotilla/server/peer_wait.h"

namespace flotilla {

// Thread-safe. Callbacks are called without locks held.
class Collectives {
 public:
  // Receives the encoded answer for one trainer, or the error.
  using Done = std::function<void(StatusOr<Payload> response)>;

  Collectives(int trainers, const Clock* clock);

  // The number of the next collective call.
  uint64_t next() const;

  // Handles the call of a trainer. A call that does not match those of the others fails for all.
  // `tensors` has one tensor (gather: uint8, sum: float64) or, for an exchange, one uint8 tensor
  // per entry of request.to().
  void Join(int trainer, const wire::CollectiveRequest& request, TensorReader tensors, Done done);

  // The trainer makes no more calls: the others no longer wait for it.
  void Leave(int trainer);

  // The wait of the trainer, if it is waiting.
  std::optional<PeerWait> WaitOf(int trainer) const;
  // Ends all waits, and later calls, with this error.
  void Fail(const Status& error);

 private:
  struct Part {
    wire::CollectiveRequest request;
    std::vector<std::shared_ptr<const std::vector<uint8_t>>> blobs;  // gather, exchange
    std::vector<double> numbers;                                     // sum
    std::vector<Done> done;  // of all copies of the trainer's request
    int64_t since_nanos = 0;
  };
  using Calls = std::vector<std::function<void()>>;

  static StatusOr<Part> ReadPart(const wire::CollectiveRequest& request, TensorReader tensors);
  // Runs change(calls) under the mutex, then makes the calls that it appended.
  template <typename Change>
  void Do(Change change);
  Status CheckLocked(const Part& part) const FL_REQUIRES(mutex_);
  void CompleteIfAll(Calls* calls) FL_REQUIRES(mutex_);
  void FailLocked(const Status& error, Calls* calls) FL_REQUIRES(mutex_);
  Payload Gathered() const FL_REQUIRES(mutex_);
  Payload Summed() const FL_REQUIRES(mutex_);
  Payload ExchangedFor(int trainer) const FL_REQUIRES(mutex_);

  const Clock* const clock_;
  mutable Mutex mutex_;
  uint64_t number_ FL_GUARDED_BY(mutex_) = 0;        // of the call that is being collected
  std::map<int, Part> parts_ FL_GUARDED_BY(mutex_);  // of that call, by trainer
  std::vector<Payload> last_ FL_GUARDED_BY(mutex_);  // results of the previous call, by trainer
  std::vector<bool> left_ FL_GUARDED_BY(mutex_);
  Status error_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
