// Elementwise ops of one value of any shape.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

std::unique_ptr<Op> MakeRelu(const NodeDef& node);
// Attribute "slope", above 0: the factor of values below 0.
std::unique_ptr<Op> MakeLeakyRelu(const NodeDef& node);
std::unique_ptr<Op> MakeSigmoid(const NodeDef& node);
std::unique_ptr<Op> MakeTanh(const NodeDef& node);
std::unique_ptr<Op> MakeExp(const NodeDef& node);
std::unique_ptr<Op> MakeLog(const NodeDef& node);
std::unique_ptr<Op> MakeSqrt(const NodeDef& node);
std::unique_ptr<Op> MakeSquare(const NodeDef& node);
// Attributes "factor", "bias": factor x + bias.
std::unique_ptr<Op> MakeScale(const NodeDef& node);
// Attributes "low" <= "high". The gradient passes where low <= x <= high.
std::unique_ptr<Op> MakeClip(const NodeDef& node);

}  // namespace flotilla
