// Gradient clipping, which a trainer applies to the gradients of a step before it pushes them.
//
// A parameter is a dense parameter or the whole gradient of one table. Statistics (parameters with
// moving_average_keep > 0) are not gradients: they are neither clipped nor counted in a norm.
#pragma once

#include <span>

#include "flotilla/base/status.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

ClipSpec ClipByValue(double limit);
ClipSpec ClipByNorm(double limit);
ClipSpec ClipByGlobalNorm(double limit);

// The largest absolute value of a gradient, before it is clipped. Update rules keep squares of
// gradients, and an infinite one would stop a parameter for ever. Clipped gradients may have any
// finite value before.
float LargestGradient(const ClipSpec& clip);

// Error if clipping is enabled and the limit is not finite or not above zero.
Status CheckClip(const ClipSpec& clip);

// Clips in place. Norms are taken in double. If a norm is not finite, nothing is clipped, so that a
// NaN stays where it arose instead of spreading; clipping by value keeps a NaN, too.
// REQUIRES: CheckClip(clip).ok(); layout was created from `parameters` and is that of
// gradients.dense.
void ClipGradients(const ClipSpec& clip, const DenseLayout& layout,
                   std::span<const ParameterSpec> parameters, Gradients& gradients);

}  // namespace flotilla
