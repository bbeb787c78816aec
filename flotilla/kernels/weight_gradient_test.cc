#include "flotilla/kernels/weight_gradient.h"

#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class WeightGradientTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(WeightGradientTest);

struct Sizes {
  int64_t m, n, k, pad;  // pad is added to the distances between the rows of X and Y
};

void CheckProduct(const Sizes& s, float beta) {
  const int64_t ldx = s.m + s.pad, ldy = s.n + s.pad;
  EdgeBuffer x(Extent(s.k, s.m, ldx)), y(Extent(s.k, s.n, ldy)), c(s.m * s.n, s.pad % 2);
  x.Assign(Uniform(RngKey(1).With(s.m), x.size()));
  y.Assign(Uniform(RngKey(2).With(s.n), y.size()));
  // Memory that must not be read holds a value that would spoil the result.
  c.Assign(beta == 0 ? std::vector<float>(c.size(), NAN) : Uniform(RngKey(3), c.size()));
  std::vector<float> expected(c.size());
  for (int64_t r = 0; r < s.m; ++r) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = beta == 0 ? 0 : c[r * s.n + j];
      for (int64_t i = 0; i < s.k; ++i) {
        sum += static_cast<double>(x[i * ldx + r]) * y[i * ldy + j];
      }
      expected[r * s.n + j] = static_cast<float>(sum);
    }
  }
  const std::vector<float> near(100), empty, far(1000);
  const std::vector<std::span<const float>> soon = {near, empty, far};
  WeightGradient(s.m, s.n, s.k, x.data(), ldx, y.data(), ldy, beta, c.data(), soon);
  EXPECT_TRUE(Near(expected, c, 1e-5, 2e-5))
      << "m " << s.m << " n " << s.n << " k " << s.k << " beta " << beta;
}

TEST_P(WeightGradientTest, EqualsTheNaiveProduct) {
  for (int64_t n : TailSizes()) CheckProduct({.m = 7, .n = n, .k = 5, .pad = n % 3}, n % 2);
  for (int64_t m = 0; m <= 21; ++m) CheckProduct({.m = m, .n = 37, .k = 9, .pad = 1}, m % 2);
  for (int64_t k : {0, 1, 2, 100, 257}) CheckProduct({.m = 20, .n = 41, .k = k, .pad = 0}, 1);
  CheckProduct({.m = 20, .n = 400, .k = 100, .pad = 0}, 0);
}

TEST_P(WeightGradientTest, AnElementDoesNotDependOnItsStrip) {
  const int64_t m = 23, n = 50, k = 100;
  const std::vector<float> x = Uniform(RngKey(1), k * m), y = Uniform(RngKey(2), k * n);
  std::vector<float> all(m * n), row(n);
  WeightGradient(m, n, k, x.data(), m, y.data(), n, 0, all.data());
  for (int64_t r = 0; r < m; ++r) {
    WeightGradient(1, n, k, x.data() + r, m, y.data(), n, 0, row.data());
    for (int64_t j = 0; j < n; ++j) EXPECT_EQ(row[j], all[r * n + j]);
  }
}

}  // namespace
}  // namespace flotilla::kernels
