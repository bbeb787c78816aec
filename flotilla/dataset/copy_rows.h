// Copies rows between batches: how datasets join what was parsed in pieces and cut what is held in
// memory. Neither function allocates when the target already has the room.
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// Appends rows [begin, end) of `from` to `to`, whose fields hold the same inputs.
// REQUIRES: both have inputs.size() fields; 0 <= begin <= end <= from.rows.
void AppendRows(std::span<const InputSpec> inputs, const Batch& from, int64_t begin, int64_t end,
                Batch* to);

// Appends the named rows of `from`, in the order in which they are named, likewise.
void GatherRows(std::span<const InputSpec> inputs, const Batch& from,
                std::span<const uint32_t> rows, Batch* to);

}  // namespace flotilla
