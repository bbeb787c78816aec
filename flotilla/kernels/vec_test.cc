#include "flotilla/kernels/vec.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class VecTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(VecTest);

using Unary = std::function<void(int64_t, const float*, float*)>;
using Binary = std::function<void(int64_t, const float*, const float*, float*)>;

void CheckUnary(const Unary& kernel, const std::function<double(double)>& twin, float low,
                float high, double relative = 2e-6, double absolute = 1e-6) {
  for (int64_t n : TailSizes()) {
    for (int64_t slack : {0, 1}) {
      const std::vector<float> x = Uniform(RngKey(n), n, low, high);
      std::vector<float> expected(n);
      for (int64_t i = 0; i < n; ++i) expected[i] = static_cast<float>(twin(x[i]));
      EdgeBuffer in(n, slack), out(n, slack);
      in.Assign(x);
      kernel(n, in.data(), out.data());
      EXPECT_TRUE(Near(expected, out, relative, absolute));
      EXPECT_EQ(in.ToVector(), x);
      kernel(n, in.data(), in.data());
      EXPECT_TRUE(Near(expected, in, relative, absolute)) << "in place";
    }
  }
}

// The reference function takes (a, b, previous y).
void CheckBinary(const Binary& kernel, const std::function<double(double, double, double)>& twin) {
  for (int64_t n : TailSizes()) {
    for (int64_t slack : {0, 1}) {
      EdgeBuffer a(n, slack), b(n), y(n, slack);
      a.Assign(Uniform(RngKey(n).With("a"), n, 0.5f, 2.0f));
      b.Assign(Uniform(RngKey(n).With("b"), n, 0.5f, 2.0f));
      y.Assign(Uniform(RngKey(n).With("y"), n));
      std::vector<float> expected(n);
      for (int64_t i = 0; i < n; ++i) expected[i] = static_cast<float>(twin(a[i], b[i], y[i]));
      kernel(n, a.data(), b.data(), y.data());
      EXPECT_TRUE(Near(expected, y));
    }
  }
}

TEST_P(VecTest, FillSetsExactlyNElements) {
  CheckUnary([](int64_t n, const float*, float* y) { Fill(n, 2.5f, y); },
             [](double) { return 2.5; }, -1, 1);
}

TEST_P(VecTest, BinaryFunctionsEqualTheirScalarTwins) {
  CheckBinary(Add, [](double a, double b, double) { return a + b; });
  CheckBinary(Sub, [](double a, double b, double) { return a - b; });
  CheckBinary(Mul, [](double a, double b, double) { return a * b; });
  CheckBinary(Div, [](double a, double b, double) { return a / b; });
  CheckBinary(Max, [](double a, double b, double) { return std::max(a, b); });
  CheckBinary(MulAdd, [](double a, double b, double y) { return y + a * b; });
}

TEST_P(VecTest, AxpyAddsAMultiple) {
  CheckBinary([](int64_t n, const float* a, const float*, float* y) { Axpy(n, -1.5f, a, y); },
              [](double a, double, double y) { return y - 1.5 * a; });
}

TEST_P(VecTest, UnaryFunctionsEqualTheirScalarTwins) {
  CheckUnary([](int64_t n, const float* x, float* y) { Scale(n, 3.0f, x, y); },
             [](double x) { return 3 * x; }, -1, 1);
  CheckUnary([](int64_t n, const float* x, float* y) { Clip(n, -0.25f, 0.5f, x, y); },
             [](double x) { return std::clamp(x, -0.25, 0.5); }, -1, 1);
  CheckUnary(
      Sqrt, [](double x) { return std::sqrt(x); }, 0, 100);
  CheckUnary(
      Exp, [](double x) { return std::exp(x); }, -20, 20);
  CheckUnary(
      Log, [](double x) { return std::log(x); }, 1e-3f, 100);
  CheckUnary(
      Tanh, [](double x) { return std::tanh(x); }, -12, 12);
  CheckUnary(
      Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -12, 12);
}

TEST_P(VecTest, TranscendentalsKeepRelativeAccuracyNearZeroAndFarOut) {
  CheckUnary(
      Exp, [](double x) { return std::exp(x); }, -85, 88, 1e-6, 0);
  CheckUnary(
      Tanh, [](double x) { return std::tanh(x); }, -1e-3f, 1e-3f, 2e-6, 0);
  CheckUnary(
      Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, -10, 1e-6, 0);
  CheckUnary(
      Log, [](double x) { return std::log(x); }, 1e-38f, 1e-36f, 1e-6, 0);
}

std::vector<float> Apply(void (*kernel)(int64_t, const float*, float*), std::vector<float> x) {
  kernel(static_cast<int64_t>(x.size()), x.data(), x.data());
  return x;
}

TEST_P(VecTest, TranscendentalsAtInfinityAndNan) {
  const std::vector<float> x = {kInf, -kInf, kNan, 1000, -1000, 0, -1, 1e38f, -1e38f};
  EXPECT_TRUE(
      Near(std::vector<float>{kInf, 0, kNan, kInf, 0, 1, std::exp(-1.0f), kInf, 0}, Apply(Exp, x)));
  EXPECT_TRUE(Near(std::vector<float>{1, 0, kNan, 1, 0, 0.5f, 1 / (1 + std::exp(1.0f)), 1, 0},
                   Apply(Sigmoid, x)));
  EXPECT_TRUE(
      Near(std::vector<float>{1, -1, kNan, 1, -1, 0, std::tanh(-1.0f), 1, -1}, Apply(Tanh, x)));
  EXPECT_TRUE(Near(std::vector<float>{kInf, kNan, kNan, std::log(1000.0f), kNan, -kInf, kNan,
                                      std::log(1e38f), kNan},
                   Apply(Log, x)));
}

TEST_P(VecTest, ClipKeepsNan) {
  std::vector<float> x = {kNan, kInf, -kInf};
  Clip(3, -1, 1, x.data(), x.data());
  EXPECT_TRUE(Near(std::vector<float>{kNan, 1, -1}, x));
}

TEST_P(VecTest, ReductionsEqualTheirScalarTwins) {
  for (int64_t n : TailSizes()) {
    EdgeBuffer a(n), b(n, 1);
    a.Assign(Uniform(RngKey(n).With("a"), n));
    b.Assign(Uniform(RngKey(n).With("b"), n));
    double dot = 0, sum = 0, squares = 0;
    float top = -kInf;
    for (int64_t i = 0; i < n; ++i) {
      dot += static_cast<double>(a[i]) * b[i];
      sum += a[i];
      squares += static_cast<double>(a[i]) * a[i];
      top = std::max(top, a[i]);
    }
    EXPECT_NEAR(Dot(n, a.data(), b.data()), dot, 2e-5);
    EXPECT_NEAR(Sum(n, a.data()), sum, 2e-5);
    EXPECT_NEAR(SumSquares(n, a.data()), squares, 1e-12 * n);
    if (n == 0) continue;
    EXPECT_EQ(MaxElement(n, a.data()), top);
  }
}

TEST_P(VecTest, MaxElementOfNegativesIsNegative) {
  for (int64_t n : TailSizes()) {
    if (n == 0) continue;
    const std::vector<float> x(n, -3.0f);
    EXPECT_EQ(MaxElement(n, x.data()), -3.0f);
  }
}

TEST_P(VecTest, SumSquaresOfLargeValuesDoesNotOverflow) {
  const std::vector<float> x(33, 1e30f);
  EXPECT_NEAR(SumSquares(33, x.data()) / 33e60, 1.0, 1e-6);
}

TEST_P(VecTest, AllFiniteSeesOneBadElementAnywhere) {
  for (int64_t n : TailSizes()) {
    EdgeBuffer x(n);
    x.Assign(std::vector<float>(n, 3e38f));
    EXPECT_TRUE(AllFinite(n, x.data()));
    for (int64_t i = 0; i < n; i += 1 + n / 100) {
      for (float bad : {kInf, -kInf, kNan}) {
        x[i] = bad;
        EXPECT_FALSE(AllFinite(n, x.data())) << bad << " at " << i << " of " << n;
      }
      x[i] = 0;
    }
  }
}

TEST_P(VecTest, AllWithinSeesOneElementBeyondTheLimitAnywhere) {
  const float limit = 1e19f;
  const float above = std::nextafter(limit, kInf);
  for (int64_t n : TailSizes()) {
    EdgeBuffer x(n);
    x.Assign(std::vector<float>(n, -limit));
    EXPECT_TRUE(AllWithin(n, limit, x.data())) << n;
    for (int64_t i = 0; i < n; i += 1 + n / 100) {
      for (float bad : {above, -above, kInf, -kInf, kNan}) {
        x[i] = bad;
        EXPECT_FALSE(AllWithin(n, limit, x.data())) << bad << " at " << i << " of " << n;
      }
      x[i] = limit;
    }
  }
}

}  // namespace
}  // namespace flotilla::kernels
