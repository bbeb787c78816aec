// Normalisation. All keep the shape; "epsilon" keeps the divisor away from 0.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// Columns to mean 0 and variance 1, then scaled and shifted. Inputs: x (batch, .., n); scale,
// shift, mean, variance (n). In training the statistics are those of the rows at hand (the variance
// divided by their number), and Backward hands them on as the "gradients" of mean and variance,
// weighted with the part of the batch that they saw, so that parts of a batch add up; see
// ParameterSpec::moving_average_keep. In inference mean and variance are used and stay.
std::unique_ptr<Op> MakeBatchNorm(const NodeDef& node);

// Runs of the last axis to mean 0 and variance 1, then scaled and shifted. Inputs: x (.., n);
// scale, shift (n).
std::unique_ptr<Op> MakeLayerNorm(const NodeDef& node);

// Runs of the last axis divided by sqrt(sum(x^2) + epsilon).
std::unique_ptr<Op> MakeL2Normalize(const NodeDef& node);

}  // namespace flotilla
