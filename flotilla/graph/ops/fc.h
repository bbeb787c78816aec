// The fully connected layer, the op that takes most of a step's time.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// act(x W + b). Inputs: x (rows, ..), flattened to (rows, in); W (in, out); b (out), which may be
// missing. Output: (rows, out). Attribute "activation": none, relu, sigmoid, tanh or softmax.
std::unique_ptr<Op> MakeFc(const NodeDef& node);

}  // namespace flotilla
