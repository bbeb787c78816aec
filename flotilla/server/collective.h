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
#include <mutex>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
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
  // All REQUIRE: mutex_ is held. Calls to make after it is released are appended to `calls`.
  template <typename Change>
  void Do(Change change);
  Status CheckLocked(const Part& part) const;
  void CompleteIfAll(Calls* calls);
  void FailLocked(const Status& error, Calls* calls);
  Payload Gathered() const;
  Payload Summed() const;
  Payload ExchangedFor(int trainer) const;

  const Clock* const clock_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  uint64_t number_ = 0;        // of the call that is being collected
  std::map<int, Part> parts_;  // of that call, by trainer
  std::vector<Payload> last_;  // results of the previous call, by trainer
  std::vector<bool> left_;
  Status error_;
};

}  // namespace flotilla
