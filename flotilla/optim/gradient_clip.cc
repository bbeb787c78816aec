#include "flotilla/optim/gradient_clip.h"

#include <cmath>
#include <limits>

#include "flotilla/kernels/vec.h"
#include "flotilla/optim/param_check.h"

namespace flotilla {

namespace {

// Calls visit(n, data) for the gradient of each parameter that is not a statistic.
template <typename Visit>
void ForEachGradient(const DenseLayout& layout, std::span<const ParameterSpec> parameters,
                     Gradients& gradients, Visit visit) {
  for (int p = 0; p < layout.parameters(); ++p) {
    if (parameters[p].moving_average_keep > 0) continue;
    visit(layout.length(p), gradients.dense.data() + layout.offset(p));
  }
  for (SparseRows& rows : gradients.sparse) {
    visit(static_cast<int64_t>(rows.values.size()), rows.values.data());
  }
}

// The factor that reduces a norm to the limit; 1 if the gradient must not be changed.
float Factor(double limit, double sum_squares) {
  const double norm = std::sqrt(sum_squares);
  return std::isfinite(norm) && norm > limit ? static_cast<float>(limit / norm) : 1.0f;
}

}  // namespace

float LargestGradient(const ClipSpec& clip) {
  constexpr float kLargestSquarable = 1.8446743e19f;  // its square is just below the largest float
  return clip.kind == ClipSpec::Kind::kNone ? kLargestSquarable : std::numeric_limits<float>::max();
}

ClipSpec ClipByValue(double limit) { return {ClipSpec::Kind::kValue, limit}; }
ClipSpec ClipByNorm(double limit) { return {ClipSpec::Kind::kNorm, limit}; }
ClipSpec ClipByGlobalNorm(double limit) { return {ClipSpec::Kind::kGlobalNorm, limit}; }

Status CheckClip(const ClipSpec& clip) {
  if (clip.kind == ClipSpec::Kind::kNone || InRange(ParamRange::kPositive, clip.limit)) {
    return absl::OkStatus();
  }
  return InvalidArgument("gradient clipping: limit is {}, but must be {}", clip.limit,
                         RangeText(ParamRange::kPositive));
}

void ClipGradients(const ClipSpec& clip, const DenseLayout& layout,
                   std::span<const ParameterSpec> parameters, Gradients& gradients) {
  switch (clip.kind) {
    case ClipSpec::Kind::kNone:
      return;
    case ClipSpec::Kind::kValue: {
      const float limit = static_cast<float>(clip.limit);
      ForEachGradient(layout, parameters, gradients,
                      [&](int64_t n, float* g) { kernels::Clip(n, -limit, limit, g, g); });
      return;
    }
    case ClipSpec::Kind::kNorm:
      ForEachGradient(layout, parameters, gradients, [&](int64_t n, float* g) {
        const float factor = Factor(clip.limit, kernels::SumSquares(n, g));
        if (factor != 1) kernels::Scale(n, factor, g, g);
      });
      return;
    case ClipSpec::Kind::kGlobalNorm: {
      double sum = 0;
      ForEachGradient(layout, parameters, gradients,
                      [&](int64_t n, float* g) { sum += kernels::SumSquares(n, g); });
      const float factor = Factor(clip.limit, sum);
      if (factor == 1) return;
      ForEachGradient(layout, parameters, gradients,
                      [&](int64_t n, float* g) { kernels::Scale(n, factor, g, g); });
      return;
    }
  }
}

}  // namespace flotilla
