// A round: batches that are computed together and pushed once. Whether one worker runs it or all of
// them, whether they share a batch, and what a batch is, is the implementation's; the loop that
// runs rounds is the same (round_loop.h). Rounds that only look (evaluation) have nothing to push.
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/base/status.h"
#include "flotilla/tensor/fetched_value.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

// What was found for one batch.
struct BatchResult {
  int64_t rows = 0;  // of text: words
  double loss = 0;
  double rate = 0;                        // learning rate, where the computation applies it itself
  std::span<const FetchedValue> fetched;  // until the next Read
};

// Not thread-safe. Errors are the first in the order of batches.
class Round {
 public:
  virtual ~Round() = default;

  // Reads batches, in an order that does not depend on which worker is faster; at the end of the
  // data fewer, or none. Those of an earlier Read that were not computed are forgotten.
  virtual Status Read() = 0;
  // How many wait for Compute.
  virtual int batches() const = 0;
  // Forgets them.
  virtual void Clear() = 0;
  // Starts the pulls of Compute.
  virtual Status StartPulls() = 0;

  // What is to be pushed: the gradients of the batch, or what those of all batches come to. The
  // caller may exchange their buffers; valid until the next call. Null where there is nothing to
  // push. REQUIRES: batches() > 0.
  virtual StatusOr<Gradients*> Compute() = 0;
  // Of the batches of the last Compute.
  virtual std::span<const BatchResult> results() const = 0;
  // As how many steps their push counts where every batch is one.
  virtual int steps() const = 0;

  // The lanes of its workers, which have their times.
  virtual int lanes() const = 0;
  virtual Lane& lane(int i) = 0;
};

}  // namespace flotilla
