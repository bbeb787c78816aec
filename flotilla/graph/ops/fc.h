// The fully connected layer, the op that takes most of a step's time.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// act(x W + b). Inputs: x (rows, .., in..), whose axes from "flatten_from" on (default 1) are
// flattened to `in`; W (in, out); b (out), which may be missing. Output: (rows, .., out). Attribute
// "activation": none, relu, sigmoid, tanh or softmax.
std::unique_ptr<Op> MakeFc(const NodeDef& node);

}  // namespace flotilla
