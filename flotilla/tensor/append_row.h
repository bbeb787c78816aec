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

// Ends the row that was appended: counts it if `status` is ok, otherwise removes what was appended
// to the fields after the last row that batch->rows counts. Returns `status`.
Status EndRow(std::span<const InputSpec> inputs, Status status, Batch* batch);

}  // namespace flotilla
