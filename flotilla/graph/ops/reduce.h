// Reductions along axes. Attribute "axes": which, counted from the front; none means all, the
// batch included. Optional "keep_dims": reduced axes stay with size 1.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

std::unique_ptr<Op> MakeReduceSum(const NodeDef& node);

// Over the batch it divides by the rows of the whole batch, so that the results of blocks add up.
std::unique_ptr<Op> MakeReduceMean(const NodeDef& node);

// The gradient goes to the first of equal maxima.
std::unique_ptr<Op> MakeReduceMax(const NodeDef& node);

}  // namespace flotilla
