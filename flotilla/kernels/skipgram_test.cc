#include "flotilla/kernels/skipgram.h"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class SkipgramTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(SkipgramTest);

using Matrix = std::vector<std::vector<double>>;

// Rows placed at the end of accessible memory, every second one misaligned.
class RowSet {
 public:
  RowSet(const RngKey& key, int64_t count, int64_t dim) {
    for (int64_t r = 0; r < count; ++r) {
      buffers_.push_back(std::make_unique<EdgeBuffer>(dim, r % 2));
      buffers_.back()->Assign(Uniform(key.With(static_cast<uint64_t>(r)), dim));
      pointers_.push_back(buffers_.back()->data());
    }
  }
  std::vector<float*>& pointers() { return pointers_; }
  Matrix Values() const {
    Matrix values;
    for (const auto& buffer : buffers_) {
      values.emplace_back(buffer->data(), buffer->data() + buffer->size());
    }
    return values;
  }
  ::testing::AssertionResult Equal(const Matrix& expected) const {
    for (size_t r = 0; r < expected.size(); ++r) {
      const std::vector<float> row(expected[r].begin(), expected[r].end());
      const auto result = Near(row, *buffers_[r], 1e-5, 1e-5);
      if (!result) return ::testing::AssertionFailure() << "row " << r << ": " << result.message();
    }
    return ::testing::AssertionSuccess();
  }

 private:
  std::vector<std::unique_ptr<EdgeBuffer>> buffers_;
  std::vector<float*> pointers_;
};

// Reference implementation of one window, in double precision.
struct WindowTwin {
  Matrix x, w, b;  // b: rows of one number; empty: no bias
  double rate;

  double Logit(const std::vector<double>& input, size_t n) const {
    double sum = b.empty() ? 0 : b[n][0];
    for (size_t i = 0; i < input.size(); ++i) sum += input[i] * w[n][i];
    return sum;
  }
  // The gradient of one input and the changes of the outputs; returns the loss.
  double Pairs(const std::vector<double>& input, std::vector<double>* dx, Matrix* dw, Matrix* db) {
    double loss = 0;
    for (size_t n = 0; n < w.size(); ++n) {
      const double logit = Logit(input, n), p = 1 / (1 + std::exp(-logit));
      loss -= std::log(n == 0 ? p : 1 - p);
      const double error = (n == 0 ? 1 : 0) - p;
      for (size_t i = 0; i < input.size(); ++i) {
        (*dx)[i] += error * w[n][i];
        (*dw)[n][i] += error * input[i];
      }
      if (!b.empty()) (*db)[n][0] += error;
    }
    return loss;
  }
  static void AddTo(Matrix* m, const Matrix& change, double factor) {
    for (size_t r = 0; r < m->size(); ++r) {
      for (size_t i = 0; i < (*m)[r].size(); ++i) (*m)[r][i] += factor * change[r][i];
    }
  }
  static Matrix ZerosLike(const Matrix& m) {
    Matrix zeros = m;
    for (auto& row : zeros) std::fill(row.begin(), row.end(), 0.0);
    return zeros;
  }
  double Skipgram() {
    Matrix dx = ZerosLike(x), dw = ZerosLike(w), db = ZerosLike(b);
    double loss = 0;
    for (size_t r = 0; r < x.size(); ++r) loss += Pairs(x[r], &dx[r], &dw, &db);
    AddTo(&x, dx, rate);
    AddTo(&w, dw, rate);
    AddTo(&b, db, rate);
    return loss;
  }
  double Cbow(CbowRule rule) {
    const auto n = static_cast<double>(x.size());
    std::vector<double> joined(x[0].size(), 0.0), gradient(x[0].size(), 0.0);
    for (const auto& row : x) {
      for (size_t i = 0; i < row.size(); ++i) {
        joined[i] += rule == CbowRule::kSum ? row[i] : row[i] / n;
      }
    }
    Matrix dw = ZerosLike(w), db = ZerosLike(b);
    const double loss = Pairs(joined, &gradient, &dw, &db);
    AddTo(&x, Matrix(x.size(), gradient), rule == CbowRule::kMean ? rate : rate / n);
    AddTo(&w, dw, rate);
    AddTo(&b, db, rate);
    return loss;
  }
};

using Cbow = std::optional<CbowRule>;  // not set: skip-gram
constexpr Cbow kRules[] = {std::nullopt, CbowRule::kGradient, CbowRule::kMean, CbowRule::kSum};

void CheckOne(int64_t inputs, int64_t outputs, int64_t dim, bool bias, Cbow cbow) {
  SCOPED_TRACE(::testing::Message()
               << inputs << " inputs, " << outputs << " outputs, dim " << dim
               << (bias ? ", bias" : "") << ", rule " << (cbow ? static_cast<int>(*cbow) : -1));
  const RngKey key = RngKey(7).With(static_cast<uint64_t>(dim));
  RowSet x(key.With("x"), inputs, dim), w(key.With("w"), outputs, dim);
  RowSet b(key.With("b"), bias ? outputs : 0, 1);
  WindowTwin twin{x.Values(), w.Values(), b.Values(), 0.125};
  WindowScratch scratch;
  const WindowBlock block{dim, x.pointers(), w.pointers(), b.pointers(), 0.125f};
  double loss = 0.5;
  const double expected = 0.5 + (cbow ? twin.Cbow(*cbow) : twin.Skipgram());
  if (cbow) {
    CbowUpdate(block, *cbow, &scratch, &loss);
  } else {
    SkipgramUpdate(block, &scratch, &loss);
  }
  EXPECT_NEAR(loss, expected, 1e-4 * std::abs(expected));
  EXPECT_TRUE(x.Equal(twin.x)) << "inputs";
  EXPECT_TRUE(w.Equal(twin.w)) << "outputs";
  EXPECT_TRUE(b.Equal(twin.b)) << "biases";
}

TEST_P(SkipgramTest, EqualsItsScalarTwinInAllDimensions) {
  for (const int64_t dim : TailSizes()) {
    if (dim == 0) continue;
    for (const Cbow& cbow : kRules) CheckOne(3, 6, dim, dim % 2 == 0, cbow);
  }
}

TEST_P(SkipgramTest, EqualsItsScalarTwinForAllWindowsAndNegatives) {
  for (const int64_t inputs : {1, 2, 5, 10, 13}) {
    for (const int64_t outputs : {1, 2, 3, 4, 5, 6, 7, 11, 12, 21}) {
      for (const bool bias : {false, true}) {
        for (const Cbow& cbow : kRules) CheckOne(inputs, outputs, 37, bias, cbow);
      }
    }
  }
}

TEST_P(SkipgramTest, OutputsThatOccurTwiceGetBothChanges) {
  RowSet x(RngKey(1), 2, 20), w(RngKey(2), 2, 20), b(RngKey(3), 2, 1);
  WindowTwin twin{x.Values(), w.Values(), b.Values(), 0.5};
  const auto again = [](auto rows) { return decltype(rows){rows[0], rows[1], rows[1]}; };
  twin.w = again(twin.w);
  twin.b = again(twin.b);
  const Matrix before = twin.w;
  twin.Skipgram();
  for (size_t i = 0; i < 20; ++i) twin.w[1][i] += twin.w[2][i] - before[2][i];
  twin.w.pop_back();
  const std::vector<float*> outputs = again(w.pointers()), biases = again(b.pointers());
  WindowScratch scratch;
  SkipgramUpdate({20, x.pointers(), outputs, biases, 0.5f}, &scratch);
  EXPECT_TRUE(x.Equal(twin.x));
  EXPECT_TRUE(w.Equal(twin.w));
}

TEST_P(SkipgramTest, CbowInputsThatOccurTwiceGetBothChanges) {
  RowSet x(RngKey(1), 2, 9), w(RngKey(2), 3, 9);
  WindowTwin twin{x.Values(), w.Values(), {}, 0.5};
  twin.x = {twin.x[0], twin.x[1], twin.x[1]};
  const Matrix before = twin.x;
  twin.Cbow(CbowRule::kMean);
  for (size_t i = 0; i < 9; ++i) twin.x[1][i] += twin.x[2][i] - before[2][i];
  twin.x.pop_back();
  const std::vector<float*> inputs = {x.pointers()[0], x.pointers()[1], x.pointers()[1]};
  WindowScratch scratch;
  CbowUpdate({9, inputs, w.pointers(), {}, 0.5f}, CbowRule::kMean, &scratch);
  EXPECT_TRUE(x.Equal(twin.x));
  EXPECT_TRUE(w.Equal(twin.w));
}

TEST_P(SkipgramTest, AWindowWithoutInputsChangesNothing) {
  RowSet w(RngKey(2), 3, 9);
  const Matrix before = w.Values();
  WindowScratch scratch;
  double loss = 0;
  SkipgramUpdate({9, {}, w.pointers(), {}, 0.5f}, &scratch, &loss);
  CbowUpdate({9, {}, w.pointers(), {}, 0.5f}, CbowRule::kSum, &scratch, &loss);
  EXPECT_EQ(w.Values(), before);
  EXPECT_EQ(loss, 0);
}

TEST_P(SkipgramTest, LargeLogitsStayFinite) {
  RowSet x(RngKey(1), 4, 16), w(RngKey(2), 6, 16);
  for (float* row : x.pointers()) std::fill_n(row, 16, 100.0f);
  for (float* row : w.pointers()) std::fill_n(row, 16, 100.0f);
  WindowScratch scratch;
  double loss = 0;
  SkipgramUpdate({16, x.pointers(), w.pointers(), {}, 0.025f}, &scratch, &loss);
  EXPECT_NEAR(loss, 4 * 5 * 160000.0, 1);
  for (const auto& row : x.Values()) EXPECT_NEAR(row[0], 100 - 5 * 0.025 * 100, 1e-3);
}

}  // namespace
}  // namespace flotilla::kernels
