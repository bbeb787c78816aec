// Products of matrices and of vectors.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// (.., m, k) x (.., k, n) -> (.., m, n). Attributes "transpose_a", "transpose_b" swap the last two
// axes of an input. Leading axes are equal, or one input has none and is used for all matrices of
// the other. Rows of the batch are never mixed: the batch axis is a leading one, or the m of a.
std::unique_ptr<Op> MakeMatMul(const NodeDef& node);

// Inner products along the last axis: (.., n), (.., n) -> (.., 1).
std::unique_ptr<Op> MakeDot(const NodeDef& node);

}  // namespace flotilla
