// Reductions along axes. Attribute "axes": the axes, counted from the front; none means all,
// including the batch. Optional "keep_dims": reduced axes are kept with size 1.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

std::unique_ptr<Op> MakeReduceSum(const NodeDef& node);

// A mean over the batch divides by the rows of the whole batch, so that the results of blocks add
// up.
std::unique_ptr<Op> MakeReduceMean(const NodeDef& node);

// The gradient goes to the first of equal maxima.
std::unique_ptr<Op> MakeReduceMax(const NodeDef& node);

}  // namespace flotilla
