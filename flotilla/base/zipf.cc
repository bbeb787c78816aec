#include "flotilla/base/zipf.h"

#include <algorithm>
#include <cmath>

namespace flotilla {

Zipf::Zipf(double values, double exponent)
    : values_(values), power_(1 - exponent), span_(std::pow(values + 1, power_) - 1) {}

// The inverse of the distribution function of density x^-exponent on [1, values + 1).
uint64_t Zipf::Rank(double u) const {
  const double x =
      std::abs(power_) < 1e-9 ? std::pow(values_ + 1, u) : std::pow(1 + u * span_, 1 / power_);
  return static_cast<uint64_t>(std::clamp(std::floor(x), 1.0, values_));
}

}  // namespace flotilla
