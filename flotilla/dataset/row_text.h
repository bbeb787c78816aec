// Formats a row of a batch as one line of text without loss of precision, for `data check`, tests
// and comparison with other programs. The text is never parsed back.
#pragma once

#include <span>
#include <string>

#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// The inputs in their order, separated by blanks; each is `name=` and its values separated by
// commas: numbers with nine digits, which distinguish any two float32 values; ids in full,
// followed by `:weight` in a batch with weights; nothing for an empty bag. REQUIRES:
// batch.Check(inputs) is ok and 0 <= row < batch.rows.
std::string RowText(std::span<const InputSpec> inputs, const Batch& batch, int64_t row);

}  // namespace flotilla
