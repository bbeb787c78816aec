#include "flotilla/base/rng.h"

#include <cmath>
#include <numbers>

namespace flotilla {

float RngKey::Normal(uint64_t counter) const {
  const uint64_t bits = Bits(counter);
  // The radius uses (0, 1], so that its logarithm is finite.
  const double u = (static_cast<double>(bits >> 32) + 1.0) * 0x1p-32;
  const double v = static_cast<double>(bits & 0xffffffffu) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
}

}  // namespace flotilla
