// Losses, one value per row or per element; a subsequent reduction yields the scalar.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// -log p[label]. Inputs: p (batch, classes), probabilities; label (batch, 1), whole numbers in
// [0, classes), anything else is an error of Op::Check. Output: (batch, 1). p below
// kSmallestProbability counts as that: neither the loss nor the gradient is infinite.
std::unique_ptr<Op> MakeCrossEntropy(const NodeDef& node);
inline constexpr float kSmallestProbability = 1e-12f;

// -log softmax(x)[label], exact for any x. Inputs and output as for MakeCrossEntropy, with x
// instead of p.
std::unique_ptr<Op> MakeSoftmaxWithCrossEntropy(const NodeDef& node);

// max(x, 0) - x z + log(1 + exp(-|x|)). Inputs: x, and z of the same shape. Output: that shape.
std::unique_ptr<Op> MakeSigmoidCrossEntropyWithLogits(const NodeDef& node);

// (x - z)^2. Inputs: x, and z of the same shape. Output: that shape.
std::unique_ptr<Op> MakeSquareError(const NodeDef& node);

// -z log(p + e) - (1 - z) log(1 - p + e). Inputs: p, and z of the same shape. Output: that shape.
// Attribute "epsilon": e.
std::unique_ptr<Op> MakeLogLoss(const NodeDef& node);

}  // namespace flotilla
