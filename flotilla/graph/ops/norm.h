// Normalisation. All keep the shape; "epsilon" keeps the divisor away from 0.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// Normalises columns to mean 0 and variance 1, then scales and shifts. Inputs: x (batch, .., n);
// scale, shift, mean, variance (n). In training the statistics are those of the current rows (the
// variance divided by their number), and Backward passes them on as the "gradients" of mean and
// variance, weighted with the fraction of the batch that they cover, so that parts of a batch add
// up; see ParameterSpec::moving_average_keep. In inference mean and variance are used and do not
// change.
std::unique_ptr<Op> MakeBatchNorm(const NodeDef& node);

// Normalises runs along the last axis to mean 0 and variance 1, then scales and shifts. Inputs: x
// (.., n); scale, shift (n).
std::unique_ptr<Op> MakeLayerNorm(const NodeDef& node);

// Divides runs along the last axis by sqrt(sum(x^2) + epsilon).
std::unique_ptr<Op> MakeL2Normalize(const NodeDef& node);

}  // namespace flotilla
