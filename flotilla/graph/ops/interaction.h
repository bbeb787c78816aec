// Second-order terms of factorization machines over the vectors of a row's features. The
// field-aware one is a lookup: embedding.h.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// Input: (batch, ..), seen as `fields` vectors per row. Output: (batch, 1), the sum of the inner
// products of all pairs of vectors. Attribute "fields".
std::unique_ptr<Op> MakeFm(const NodeDef& node);

// The same with a weight per pair: the second input (fields (fields - 1) / 2), where the pair of
// vectors j < i has weight i (i - 1) / 2 + j.
std::unique_ptr<Op> MakeFwfm(const NodeDef& node);

}  // namespace flotilla
