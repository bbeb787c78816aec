#include "flotilla/kernels/bfloat16.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class Bfloat16Test : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(Bfloat16Test);

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// The nearer of the two neighbours, found by their distances in double precision.
uint16_t NaiveToBfloat16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint16_t below = static_cast<uint16_t>(bits >> 16);
  if (std::isinf(x)) return below;
  // The step beyond the largest value is as long as the one before it.
  const auto value = [](uint32_t upper) {
    const float f = FromBits(upper << 16);
    return std::isinf(f) ? std::copysign(std::ldexp(1.0, 128), f) : static_cast<double>(f);
  };
  const double down = std::fabs(x - value(below));
  const double up = std::fabs(value(below + 1u) - x);
  if (down != up) return down < up ? below : below + 1;
  return below % 2 == 0 ? below : below + 1;
}

TEST_P(Bfloat16Test, RoundsToTheNearestAndHalfwayToEven) {
  for (const int64_t n : TailSizes()) {
    for (const int64_t slack : {0, 1}) {
      std::vector<float> x(n);
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t draw = RngKey(n).Below(i, uint64_t{1} << 32);
        x[i] = FromBits(static_cast<uint32_t>(draw));
        // Every fourth lies halfway.
        if (i % 4 == 0) x[i] = FromBits((static_cast<uint32_t>(draw) & 0xffff0000) | 0x8000);
        if (std::isnan(x[i])) x[i] = 1;
      }
      EdgeBuffer in(n, slack);
      in.Assign(x);
      std::vector<uint16_t> out(n + 1, 0xabcd);
      ToBfloat16(n, in.data(), out.data());
      for (int64_t i = 0; i < n; ++i) EXPECT_EQ(out[i], NaiveToBfloat16(x[i])) << x[i];
      EXPECT_EQ(out[n], 0xabcd) << "nothing beyond the end";
      EdgeBuffer back(n, slack);
      FromBfloat16(n, out.data(), back.data());
      const std::vector<float> values = back.ToVector();
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(std::bit_cast<uint32_t>(values[i]), uint32_t{out[i]} << 16);
      }
    }
  }
}

TEST_P(Bfloat16Test, WhatIsNotFiniteStaysSo) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {kInf, -kInf, FromBits(0x7f800001), FromBits(0xffffffff),
                                std::numeric_limits<float>::max()};
  std::vector<uint16_t> y(x.size());
  std::vector<float> back(x.size());
  ToBfloat16(static_cast<int64_t>(x.size()), x.data(), y.data());
  FromBfloat16(static_cast<int64_t>(x.size()), y.data(), back.data());
  EXPECT_EQ(back[0], kInf);
  EXPECT_EQ(back[1], -kInf);
  EXPECT_TRUE(std::isnan(back[2]));
  EXPECT_TRUE(std::isnan(back[3]));
  EXPECT_EQ(back[4], kInf);
}

}  // namespace
}  // namespace flotilla::kernels
