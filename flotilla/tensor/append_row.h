// Appends a row to a batch value by value, such that a row that turns out to be bad can be undone.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "flotilla/base/status.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// The ids of one row of a bag (an id input with offsets) are pushed between these two calls. EndBag
// returns false when the batch has more ids than offsets can count.
inline void BeginBag(RaggedIds* ids) {
  if (ids->offsets.empty()) ids->offsets.push_back(0);
}
inline bool EndBag(RaggedIds* ids) {
  ids->offsets.push_back(static_cast<uint32_t>(ids->ids.size()));
  return ids->ids.size() <= std::numeric_limits<uint32_t>::max();
}

// Pushes an id with its weight. A batch stores weights only from the first one that is not 1 on, so
// all ids of an input that may have weights are pushed with it.
inline void PushWeighted(uint64_t id, float weight, RaggedIds* ids) {
  if (weight != 1 || !ids->weights.empty()) {
    ids->weights.resize(ids->ids.size(), 1.0f);
    ids->weights.push_back(weight);
  }
  ids->ids.push_back(id);
}

// Ends the row that was appended: counts it if `status` is ok, otherwise removes what was appended
// to the fields after the last row that batch->rows counts. Returns `status`.
Status EndRow(std::span<const InputSpec> inputs, Status status, Batch* batch);

}  // namespace flotilla
