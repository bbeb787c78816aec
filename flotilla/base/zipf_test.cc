#include "flotilla/base/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

TEST(ZipfTest, RanksFollowTheLaw) {
  constexpr int kDraws = 200'000;
  for (const double exponent : {0.5, 1.0, 1.3}) {
    const Zipf zipf(100, exponent);
    std::vector<double> share(101);
    const RngKey key(3);
    for (int i = 0; i < kDraws; ++i) {
      ++share[zipf.Rank(static_cast<double>(key.Bits(i) >> 11) * 0x1p-53)];
    }
    auto integral = [&](double from, double to) {
      const double power = 1 - exponent;
      return power == 0 ? std::log(to / from)
                        : (std::pow(to, power) - std::pow(from, power)) / power;
    };
    for (const int rank : {1, 2, 10, 100}) {
      const double expected = integral(rank, rank + 1) / integral(1, 101);
      EXPECT_NEAR(share[rank] / kDraws, expected, 5 * std::sqrt(expected / kDraws)) << rank;
    }
  }
}

TEST(ZipfTest, RanksStayWithinTheirRange) {
  for (const double exponent : {0.3, 1.0, 4.0}) {
    EXPECT_EQ(Zipf(7, exponent).Rank(0), 1u);
    EXPECT_LE(Zipf(7, exponent).Rank(1 - 0x1p-53), 7u);
    EXPECT_EQ(Zipf(1, exponent).Rank(0.999), 1u);
  }
}

}  // namespace
}  // namespace flotilla
