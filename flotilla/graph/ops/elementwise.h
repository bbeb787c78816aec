// Elementwise ops of two values. Shapes are aligned at the end and an axis of size 1, or a missing
// one, is broadcast; the batch axis stays first: (batch, n) is compatible with (batch, n), (batch,
// 1), (n), (1, n) and (), not with (batch).
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

std::unique_ptr<Op> MakeAdd(const NodeDef& node);
std::unique_ptr<Op> MakeSub(const NodeDef& node);
std::unique_ptr<Op> MakeMul(const NodeDef& node);
std::unique_ptr<Op> MakeDiv(const NodeDef& node);
// If both are equal, the gradient goes to the first.
std::unique_ptr<Op> MakeMax(const NodeDef& node);

}  // namespace flotilla
