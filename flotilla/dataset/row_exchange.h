// Interface between an in-memory dataset and the trainers of a fleet: exchanges rows when the data
// of all trainers is shuffled together. Implemented by the code that connects trainers; the dataset
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

  // Sends outgoing[t] to trainer t (its own part stays local) and returns the rows received from
  // trainer 0, 1, .. Every trainer calls it once per shuffle; it returns when all have. An error on
  // one trainer is an error on all, and in that case no rows have been exchanged. REQUIRES:
  // outgoing.size() == trainers().
  virtual StatusOr<std::vector<Batch>> Exchange(std::vector<Batch> outgoing) = 0;
};

}  // namespace flotilla
