// Copies rows between batches. Datasets use it to join rows that were parsed in pieces and to cut
// batches from rows held in memory. Neither function allocates when the target has enough capacity.
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

// Appends the given rows of `from` to `to`, in the order of `rows`, under the same conditions.
void GatherRows(std::span<const InputSpec> inputs, const Batch& from,
                std::span<const uint32_t> rows, Batch* to);

}  // namespace flotilla
