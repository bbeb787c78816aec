// Ops that move values without changing them.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// Concatenates values whose shapes are equal except for one axis. Attribute "axis", negative from
// the end.
std::unique_ptr<Op> MakeConcat(const NodeDef& node);

// Elements [start, end) along an axis. Attributes "axis", "start", "end"; both bounds may be
// negative, counted from the end. The batch axis cannot be sliced.
std::unique_ptr<Op> MakeSlice(const NodeDef& node);

// The same elements under another shape. Attribute "shape": the new dimensions; for a per-row value
// those of one row (the batch axis stays first). One of them may be -1: inferred from the others.
std::unique_ptr<Op> MakeReshape(const NodeDef& node);

}  // namespace flotilla
