#include "flotilla/kernels/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

constexpr Activation kAll[] = {Activation::kNone, Activation::kRelu, Activation::kSigmoid,
                               Activation::kTanh};

class ActivationTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(ActivationTest);

double Naive(Activation act, double x) {
  switch (act) {
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    default:
      return x;
  }
}

double NaiveSlope(Activation act, double y) {
  switch (act) {
    case Activation::kRelu:
      return y > 0 ? 1 : 0;
    case Activation::kSigmoid:
      return y * (1 - y);
    case Activation::kTanh:
      return 1 - y * y;
    default:
      return 1;
  }
}

void CheckForward(Activation act, int64_t rows, int64_t columns, bool with_bias) {
  EdgeBuffer bias(columns), y(rows * columns, rows % 2);
  bias.Assign(Uniform(RngKey(1), columns));
  y.Assign(Uniform(RngKey(2).With(columns), rows * columns, -3, 3));
  std::vector<float> expected = y.ToVector();
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float shift = with_bias ? bias[i % columns] : 0;
    expected[i] = static_cast<float>(Naive(act, expected[i] + shift));
  }
  BiasActivation(act, rows, columns, with_bias ? bias.data() : nullptr, y.data());
  EXPECT_TRUE(Near(expected, y)) << rows << " x " << columns;
}

TEST_P(ActivationTest, ForwardEqualsTheScalarTwin) {
  for (Activation act : kAll) {
    for (int64_t columns : TailSizes()) {
      for (int64_t rows : {1, 4, 5}) CheckForward(act, rows, columns, columns % 3 != 0);
    }
    CheckForward(act, 0, 5, true);
  }
}

TEST_P(ActivationTest, ReluKeepsNan) {
  std::vector<float> y = {std::numeric_limits<float>::quiet_NaN(), -1, 2};
  const std::vector<float> bias = {1, 1, 1};
  BiasActivation(Activation::kRelu, 1, 3, bias.data(), y.data());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 3);
}

void CheckBackward(Activation act, int64_t rows, int64_t columns, bool with_bias) {
  EdgeBuffer y(rows * columns), dy(rows * columns, rows % 2), dbias(columns);
  y.Assign(Uniform(RngKey(1).With(columns), rows * columns, -0.9f, 0.9f));
  for (int64_t i = 0; i < rows * columns; i += 3) y[i] = 0;  // the most frequent result of relu
  dy.Assign(Uniform(RngKey(2).With(columns), rows * columns));
  dbias.Assign(Uniform(RngKey(3), columns));
  std::vector<float> want = dy.ToVector(), want_bias = dbias.ToVector();
  for (int64_t i = 0; i < rows * columns; ++i) {
    want[i] = static_cast<float>(want[i] * NaiveSlope(act, y[i]));
    if (with_bias) want_bias[i % columns] += want[i];
  }
  BiasActivationBackward(act, rows, columns, y.data(), dy.data(),
                         with_bias ? dbias.data() : nullptr);
  EXPECT_TRUE(Near(want, dy)) << rows << " x " << columns;
  EXPECT_TRUE(Near(want_bias, dbias, 1e-5, 1e-5)) << rows << " x " << columns;
}

TEST_P(ActivationTest, BackwardEqualsTheScalarTwin) {
  for (Activation act : kAll) {
    for (int64_t columns : TailSizes()) {
      for (int64_t rows : {1, 4, 7}) CheckBackward(act, rows, columns, columns % 3 != 0);
    }
    CheckBackward(act, 0, 5, true);
    CheckBackward(act, 50, 33, true);
  }
}

std::vector<float> NaiveSoftmax(int64_t rows, int64_t columns, const std::vector<float>& x,
                                bool log) {
  std::vector<float> y(x.size());
  for (int64_t r = 0; r < rows; ++r) {
    const auto begin = x.begin() + r * columns;
    const double top = *std::max_element(begin, begin + columns);
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c] - top);
    for (int64_t c = 0; c < columns; ++c) {
      const double shifted = x[r * columns + c] - top;
      y[r * columns + c] =
          static_cast<float>(log ? shifted - std::log(sum) : std::exp(shifted) / sum);
    }
  }
  return y;
}

void CheckSoftmax(int64_t rows, int64_t columns, bool log) {
  const auto kernel = log ? LogSoftmax : Softmax;
  const std::vector<float> x = Uniform(RngKey(columns), rows * columns, -30, 30);
  const std::vector<float> expected = NaiveSoftmax(rows, columns, x, log);
  EdgeBuffer in(x.size()), out(x.size(), 1);
  in.Assign(x);
  kernel(rows, columns, in.data(), out.data());
  EXPECT_TRUE(Near(expected, out, 4e-6, 3e-7)) << rows << " x " << columns;
  kernel(rows, columns, in.data(), in.data());
  EXPECT_TRUE(Near(expected, in, 4e-6, 3e-7)) << "in place, " << rows << " x " << columns;
}

TEST_P(ActivationTest, SoftmaxEqualsTheScalarTwin) {
  for (bool log : {false, true}) {
    for (int64_t columns : TailSizes()) {
      if (columns == 0) continue;
      for (int64_t rows : {0, 1, 3, 17}) CheckSoftmax(rows, columns, log);
    }
    for (int64_t rows = 0; rows < 70; ++rows) CheckSoftmax(rows, 2, log);
  }
}

TEST_P(ActivationTest, SoftmaxOfLargeNumbersIsFiniteAndOfNanIsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t columns : {2, 40}) {
    std::vector<float> x(2 * columns, -1e30f), y(2 * columns), z(2 * columns);
    x[1] = 1e30f;
    x[columns] = nan;
    Softmax(2, columns, x.data(), y.data());
    LogSoftmax(2, columns, x.data(), z.data());
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], 1);
    EXPECT_EQ(z[1], 0);
    for (int64_t c = columns; c < 2 * columns; ++c) {
      EXPECT_TRUE(std::isnan(y[c]));
      EXPECT_TRUE(std::isnan(z[c]));
    }
  }
}

void CheckSoftmaxBackward(int64_t rows, int64_t columns, bool log) {
  const int64_t n = rows * columns;
  EdgeBuffer y(n), dy(n), dx(n, columns % 2);
  y.Assign(NaiveSoftmax(rows, columns, Uniform(RngKey(1), n, -3, 3), log));
  dy.Assign(Uniform(RngKey(2).With(columns), n));
  dx.Assign(Uniform(RngKey(3), n));
  std::vector<float> expected = dx.ToVector();
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t i = r * columns; i < (r + 1) * columns; ++i) sum += log ? dy[i] : y[i] * dy[i];
    for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
      expected[i] += static_cast<float>(log ? dy[i] - std::exp(y[i]) * sum : y[i] * (dy[i] - sum));
    }
  }
  (log ? LogSoftmaxBackward : SoftmaxBackward)(rows, columns, y.data(), dy.data(), dx.data());
  EXPECT_TRUE(Near(expected, dx, 1e-5, 2e-6)) << rows << " x " << columns;
}

TEST_P(ActivationTest, SoftmaxBackwardEqualsTheScalarTwin) {
  for (bool log : {false, true}) {
    for (int64_t columns : TailSizes()) {
      if (columns == 0) continue;
      for (int64_t rows : {0, 1, 3, 17}) CheckSoftmaxBackward(rows, columns, log);
    }
    for (int64_t rows = 0; rows < 70; ++rows) CheckSoftmaxBackward(rows, 2, log);
  }
}

}  // namespace
}  // namespace flotilla::kernels
