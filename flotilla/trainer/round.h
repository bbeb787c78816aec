// A round: batches that are computed together and pushed once. The implementation decides whether
// one worker or all of them run it, whether they share a batch, and what a batch is; the loop that
// runs rounds is always the same (round_loop.h). Rounds of an evaluation have nothing to push.
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/base/status.h"
#include "flotilla/tensor/fetched_value.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

// The results of one batch.
struct BatchResult {
  int64_t rows = 0;     // of text: words
  int64_t ordinal = 0;  // of the batch in its epoch
  double loss = 0;
  double rate = 0;                        // learning rate, if the computation applies it itself
  bool dropped = false;                   // a bad batch (bad_batch.h): it is not in the gradients
  std::span<const FetchedValue> fetched;  // valid until the next Read
};

// Not thread-safe. The error of a call is the first one in the order of batches.
class Round {
 public:
  virtual ~Round() = default;

  // Reads batches, in an order that does not depend on the speed of workers; fewer or none at the
  // end of the data. Batches of an earlier Read that were not computed are dropped.
  virtual Status Read() = 0;
  // The number of batches that were read and not computed.
  virtual int batches() const = 0;
  // Drops them.
  virtual void Clear() = 0;
  // Starts the pulls of Compute.
  virtual Status StartPulls() = 0;

  // Computes the batches and returns the gradients to push: those of the batch, or those of all
  // batches combined, without bad ones. The caller may exchange their buffers; valid until the next
  // call. Null if there is nothing to push: in training, if all batches are bad. REQUIRES:
  // batches() > 0.
  virtual StatusOr<Gradients*> Compute() = 0;
  // The results of the batches of the last Compute.
  virtual std::span<const BatchResult> results() const = 0;
  // The number of steps that their push counts as, in modes in which every batch is a step. Bad
  // batches do not count.
  virtual int steps() const = 0;

  // The lanes of its workers, which hold their stage times.
  virtual int lanes() const = 0;
  virtual Lane& lane(int i) = 0;
};

}  // namespace flotilla
