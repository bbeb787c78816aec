#include "flotilla/kernels/interaction.h"

#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class InteractionTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(InteractionTest);

std::vector<float> AsFloats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

int64_t PairCount(int64_t fields) { return fields * (fields - 1) / 2; }

// The sum over pairs of FwFM, and its derivatives; FM has weights of 1.
struct NaivePairs {
  std::vector<double> y, dx, dweights;

  NaivePairs(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
             const float* dy) {
    y.resize(rows);
    dx.resize(rows * fields * dim);
    dweights.resize(PairCount(fields));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < fields; ++i) {
        for (int64_t j = 0; j < i; ++j) {
          const int64_t pair = PairCount(i) + j;
          for (int64_t c = 0; c < dim; ++c) {
            const int64_t a = (r * fields + i) * dim + c, b = (r * fields + j) * dim + c;
            const double product = static_cast<double>(x[a]) * x[b];
            y[r] += weights[pair] * product;
            dweights[pair] += dy[r] * product;
            dx[a] += static_cast<double>(dy[r]) * weights[pair] * x[b];
            dx[b] += static_cast<double>(dy[r]) * weights[pair] * x[a];
          }
        }
      }
    }
  }
};

// What a gradient holds before the call, and with it after an accumulating call.
constexpr float kBefore = 0.75f;

std::vector<float> Plus(const std::vector<double>& values, double before) {
  std::vector<float> sums;
  for (double value : values) sums.push_back(static_cast<float>(value + before));
  return sums;
}

void CheckFm(int64_t rows, int64_t fields, int64_t dim) {
  EdgeBuffer x(rows * fields * dim), dy(rows), y(rows), dx(rows * fields * dim);
  x.Assign(Uniform(RngKey(1).With(dim), x.size()));
  dy.Assign(Uniform(RngKey(2).With(dim), dy.size()));
  const std::vector<float> ones(PairCount(fields), 1);
  const NaivePairs naive(rows, fields, dim, x.data(), ones.data(), dy.data());
  const std::string what = fmt::format("{} x {} x {}", rows, fields, dim);
  FmForward(rows, fields, dim, x.data(), y.data());
  EXPECT_TRUE(Near(AsFloats(naive.y), y, 1e-5, 1e-6 * static_cast<double>(1 + dim * fields)))
      << what;
  FmBackward(rows, fields, dim, x.data(), dy.data(), false, dx.data());
  EXPECT_TRUE(Near(AsFloats(naive.dx), dx, 1e-5, 1e-5)) << what;
  dx.Assign(std::vector<float>(dx.size(), kBefore));
  FmBackward(rows, fields, dim, x.data(), dy.data(), true, dx.data());
  EXPECT_TRUE(Near(Plus(naive.dx, kBefore), dx, 1e-5, 1e-5)) << what;
}

TEST_P(InteractionTest, FmEqualsTheSumOverPairs) {
  for (int64_t dim : TailSizes()) {
    for (int64_t fields : {1, 2, 5}) CheckFm(3, fields, dim);
  }
  CheckFm(0, 3, 4);
  CheckFm(20, 39, 16);
}

void CheckFwfm(int64_t rows, int64_t fields, int64_t dim) {
  EdgeBuffer x(rows * fields * dim), weights(PairCount(fields)), dy(rows);
  EdgeBuffer y(rows), dx(rows * fields * dim), dweights(PairCount(fields));
  x.Assign(Uniform(RngKey(1).With(dim), x.size()));
  weights.Assign(Uniform(RngKey(3).With(dim), weights.size()));
  dy.Assign(Uniform(RngKey(2).With(dim), dy.size()));
  const NaivePairs naive(rows, fields, dim, x.data(), weights.data(), dy.data());
  const std::string what = fmt::format("{} x {} x {}", rows, fields, dim);
  FwfmForward(rows, fields, dim, x.data(), weights.data(), y.data());
  EXPECT_TRUE(Near(AsFloats(naive.y), y, 1e-5, 1e-6 * static_cast<double>(1 + dim * fields)))
      << what;
  dweights.Assign(std::vector<float>(dweights.size(), kBefore));
  FwfmBackward(rows, fields, dim, x.data(), weights.data(), dy.data(), false, dx.data(),
               dweights.data());
  EXPECT_TRUE(Near(AsFloats(naive.dx), dx, 1e-5, 1e-5)) << what;
  EXPECT_TRUE(Near(Plus(naive.dweights, kBefore), dweights, 2e-5, 2e-5)) << what;
  dx.Assign(std::vector<float>(dx.size(), kBefore));
  FwfmBackward(rows, fields, dim, x.data(), weights.data(), dy.data(), true, dx.data(), nullptr);
  EXPECT_TRUE(Near(Plus(naive.dx, kBefore), dx, 1e-5, 1e-5)) << what;
  FwfmBackward(rows, fields, dim, x.data(), weights.data(), dy.data(), true, nullptr,
               dweights.data());
  EXPECT_TRUE(Near(Plus(naive.dx, kBefore), dx, 1e-5, 1e-5)) << what;
}

TEST_P(InteractionTest, FwfmEqualsTheWeightedSumOverPairs) {
  for (int64_t dim : TailSizes()) {
    for (int64_t fields : {1, 2, 5}) CheckFwfm(3, fields, dim);
  }
  CheckFwfm(0, 3, 4);
  for (int64_t rows : {1, 8, 9, 23}) CheckFwfm(rows, 39, 8);
}

// Features with random values and fields; feature 3, if there is one, shares its row with
// feature 1.
void CheckFfm(int64_t count, int64_t fields, int64_t k, bool unit_values) {
  const int64_t size = fields * k;
  const RngKey key = RngKey(5).With(count).With(k);
  EdgeBuffer rows(count * size), gradients(count * size);
  rows.Assign(Uniform(key, rows.size()));
  gradients.Assign(std::vector<float>(gradients.size(), kBefore));
  std::vector<FfmFeature> features(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i == 3 ? 1 : i;
    const auto field = static_cast<int64_t>(key.With(1).Below(i, fields));
    features[i] = {rows.data() + row * size, gradients.data() + row * size, field * k,
                   unit_values ? 1 : key.With(2).Uniform(i) - 0.25f};
  }
  double expected = 0;
  std::vector<double> slopes(gradients.size(), kBefore);
  const float scale = -1.5f;
  for (int64_t a = 0; a < count; ++a) {
    for (int64_t b = a + 1; b < count; ++b) {
      const double values = static_cast<double>(features[a].x) * features[b].x;
      for (int64_t c = 0; c < k; ++c) {
        const float* of_a = features[a].row + features[b].offset + c;
        const float* of_b = features[b].row + features[a].offset + c;
        expected += values * *of_a * *of_b;
        slopes[of_a - rows.data()] += scale * values * *of_b;
        slopes[of_b - rows.data()] += scale * values * *of_a;
      }
    }
  }
  const std::string what = fmt::format("{} features, {} fields of {}", count, fields, k);
  EXPECT_NEAR(FfmForward(count, k, features.data()), expected,
              1e-6 * static_cast<double>(1 + count * count * k))
      << what;
  FfmBackward(count, k, scale, features.data());
  EXPECT_TRUE(Near(AsFloats(slopes), gradients, 1e-5, 1e-5)) << what;
}

TEST_P(InteractionTest, FfmEqualsTheSumOverPairs) {
  for (int64_t k = 1; k <= 40; ++k) {
    for (int64_t count : {0, 1, 2, 7}) CheckFfm(count, 3, k, false);
  }
  for (int64_t count = 0; count < 12; ++count) CheckFfm(count, 4, 4, true);
  CheckFfm(39, 39, 4, true);
  CheckFfm(50, 39, 4, false);
}

}  // namespace
}  // namespace flotilla::kernels
