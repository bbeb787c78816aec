// Ops that draw random numbers: counter-based, so that they depend on neither blocks nor threads.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// In training an element is 0 with probability "rate" and divided by (1 - rate) otherwise; in
// inference it is the identity. 0 <= rate < 1.
std::unique_ptr<Op> MakeDropout(const NodeDef& node);

}  // namespace flotilla
