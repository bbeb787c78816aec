// The seam between a dataset in memory and the trainers of a fleet: how rows change hands when the
// data of all trainers is shuffled as one. Whoever connects trainers implements it; the dataset
// knows nothing of connections.
#pragma once

#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/batch.h"

namespace flotilla {

// One per trainer. Used by one thread at a time.
class RowExchange {
 public:
  virtual ~RowExchange() = default;

  virtual int trainers() const = 0;
  // The number of this trainer, in [0, trainers()).
  virtual int trainer() const = 0;

  // Gives outgoing[t] to trainer t (its own part it keeps) and returns what trainer 0, 1, .. gave
  // to this one. Every trainer calls it once per shuffle; it returns when all have. An error on one
  // side is an error on all, and then no rows have changed hands. REQUIRES: outgoing.size() ==
  // trainers().
  virtual StatusOr<std::vector<Batch>> Exchange(std::vector<Batch> outgoing) = 0;
};

}  // namespace flotilla
