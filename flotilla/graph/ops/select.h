// Ops that select, convert or create values.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// The "k" largest along the last axis. (.., n) -> values (.., k), descending, and indices (.., k),
// whole numbers; equal values keep the order of the input. The gradient goes to the selected
// elements.
std::unique_ptr<Op> MakeTopK(const NodeDef& node);

// Attribute "to": "int" truncates towards zero and passes no gradient, "float" is the identity.
std::unique_ptr<Op> MakeCast(const NodeDef& node);

// (batch, shape..) filled with one value, for the batch that the input belongs to; the input's
// values are not read, and it may be ids. Attributes "shape", "value".
std::unique_ptr<Op> MakeFillLikeBatch(const NodeDef& node);

// The identity, without a gradient.
std::unique_ptr<Op> MakeStopGradient(const NodeDef& node);

}  // namespace flotilla
