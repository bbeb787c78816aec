// Ops that choose, convert or make values.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// The "k" largest along the last axis. (.., n) -> values (.., k), descending, and indices (.., k),
// whole numbers; of equal values the first in the input stands first. The gradient goes to the
// chosen ones.
std::unique_ptr<Op> MakeTopK(const NodeDef& node);

// Attribute "to": "int" cuts towards zero and lets no gradient through, "float" is the identity.
std::unique_ptr<Op> MakeCast(const NodeDef& node);

// (batch, shape..) of one value, for the batch that the input belongs to; the input's values are
// not read, and it may be ids. Attributes "shape", "value".
std::unique_ptr<Op> MakeFillLikeBatch(const NodeDef& node);

// The identity, without a gradient.
std::unique_ptr<Op> MakeStopGradient(const NodeDef& node);

}  // namespace flotilla
