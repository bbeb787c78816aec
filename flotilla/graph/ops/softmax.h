// Softmax and its logarithm along the last axis.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// When the plan fused it with a cross entropy, the incoming gradient is already that of the input
// and is passed on.
std::unique_ptr<Op> MakeSoftmax(const NodeDef& node);
std::unique_ptr<Op> MakeLogSoftmax(const NodeDef& node);

}  // namespace flotilla
