#include "flotilla/kernels/rows.h"

#include <cmath>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

constexpr int64_t kDistinct = 9;

class RowsTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(RowsTest);

std::vector<uint32_t> Positions(const RngKey& key, int64_t n) {
  std::vector<uint32_t> positions(n);
  for (int64_t i = 0; i < n; ++i) positions[i] = static_cast<uint32_t>(key.Below(i, kDistinct));
  return positions;
}

void CheckGatherAndScatterRows(int64_t rows, int64_t dim, int64_t stride) {
  const std::vector<uint32_t> positions = Positions(RngKey(dim), rows);
  EdgeBuffer values(kDistinct * dim), out(Extent(rows, dim, stride));
  values.Assign(Uniform(RngKey(1).With(dim), values.size()));
  std::vector<float> expected = out.ToVector();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < dim; ++i) {
      expected[r * stride + i] = values[positions[r] * dim + i];
    }
  }
  GatherRows(rows, dim, values.data(), positions.data(), out.data(), stride);
  EXPECT_TRUE(Near(expected, out, 0, 0)) << "dim " << dim << " stride " << stride;

  std::vector<float> sums = values.ToVector();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < dim; ++i) sums[positions[r] * dim + i] += out[r * stride + i];
  }
  ScatterAddRows(rows, dim, out.data(), stride, positions.data(), values.data());
  EXPECT_TRUE(Near(sums, values, 0, 0)) << "dim " << dim << " stride " << stride;
}

TEST_P(RowsTest, GatherAndScatterRowsEqualTheirScalarTwins) {
  for (int64_t dim : TailSizes()) {
    for (int64_t rows : {0, 1, 20}) {
      for (int64_t gap : {0, 1, 13}) CheckGatherAndScatterRows(rows, dim, dim + gap);
    }
  }
}

void CheckSlots(int64_t rows, int64_t slots, int64_t dim, int64_t gap) {
  const int64_t stride = slots * dim + gap;
  std::vector<std::vector<uint32_t>> positions;
  std::vector<const uint32_t*> pointers;
  for (int64_t s = 0; s < slots; ++s) positions.push_back(Positions(RngKey(s).With(dim), rows));
  for (const auto& slot : positions) pointers.push_back(slot.data());
  EdgeBuffer values(kDistinct * dim), out(Extent(rows, slots * dim, stride));
  values.Assign(Uniform(RngKey(1).With(dim), values.size()));
  std::vector<float> expected = out.ToVector(), sums = values.ToVector();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t s = 0; s < slots; ++s) {
      for (int64_t i = 0; i < dim; ++i) {
        expected[r * stride + s * dim + i] = values[positions[s][r] * dim + i];
      }
    }
  }
  GatherSlots(rows, slots, dim, values.data(), pointers.data(), out.data(), stride);
  EXPECT_TRUE(Near(expected, out, 0, 0)) << slots << " slots of " << dim << ", gap " << gap;

  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t s = 0; s < slots; ++s) {
      for (int64_t i = 0; i < dim; ++i) {
        sums[positions[s][r] * dim + i] += out[r * stride + s * dim + i];
      }
    }
  }
  ScatterAddSlots(rows, slots, dim, out.data(), stride, pointers.data(), values.data());
  EXPECT_TRUE(Near(sums, values, 0, 0)) << slots << " slots of " << dim << ", gap " << gap;
}

TEST_P(RowsTest, GatherAndScatterSlotsEqualTheirScalarTwins) {
  for (int64_t dim : TailSizes()) {
    for (int64_t slots : {1, 2, 7}) {
      for (int64_t gap : {0, 1, 13}) CheckSlots(11, slots, dim, gap);
    }
  }
  CheckSlots(0, 26, 10, 13);
  CheckSlots(5, 0, 10, 13);
  CheckSlots(100, 26, 10, 13);
}

double NaiveScale(Pooling pooling, uint32_t count) {
  if (pooling == Pooling::kMean) return 1.0 / count;
  return pooling == Pooling::kSqrtN ? 1.0 / std::sqrt(count) : 1.0;
}

void CheckBags(Pooling pooling, int64_t dim, int64_t gap) {
  const std::vector<uint32_t> offsets = {0, 0, 1, 4, 4, 6, 13, 13};
  const auto rows = static_cast<int64_t>(offsets.size()) - 1;
  const int64_t stride = dim + gap;
  const std::vector<uint32_t> positions = Positions(RngKey(dim), offsets.back());
  EdgeBuffer values(kDistinct * dim), out(Extent(rows, dim, stride));
  values.Assign(Uniform(RngKey(1).With(dim), values.size()));
  std::vector<float> expected = out.ToVector();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < dim; ++i) {
      double sum = 0;
      for (uint32_t k = offsets[r]; k < offsets[r + 1]; ++k) {
        sum += values[positions[k] * dim + i] * NaiveScale(pooling, offsets[r + 1] - offsets[r]);
      }
      expected[r * stride + i] = static_cast<float>(sum);
    }
  }
  GatherBags(pooling, rows, dim, values.data(), positions.data(), offsets.data(), out.data(),
             stride);
  EXPECT_TRUE(Near(expected, out)) << "dim " << dim << " gap " << gap;

  std::vector<double> sums(values.data(), values.data() + values.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (uint32_t k = offsets[r]; k < offsets[r + 1]; ++k) {
      const double scale = NaiveScale(pooling, offsets[r + 1] - offsets[r]);
      for (int64_t i = 0; i < dim; ++i) sums[positions[k] * dim + i] += scale * out[r * stride + i];
    }
  }
  ScatterAddBags(pooling, rows, dim, out.data(), stride, positions.data(), offsets.data(),
                 values.data());
  EXPECT_TRUE(Near(std::vector<float>(sums.begin(), sums.end()), values, 1e-5, 1e-5))
      << "dim " << dim << " gap " << gap;
}

TEST_P(RowsTest, GatherAndScatterBagsEqualTheirScalarTwins) {
  for (Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN}) {
    for (int64_t dim : TailSizes()) {
      for (int64_t gap : {0, 5}) CheckBags(pooling, dim, gap);
    }
  }
}

TEST_P(RowsTest, EmptyBagsGiveZerosForEveryPooling) {
  const std::vector<uint32_t> offsets = {0, 0, 0};
  for (Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN}) {
    std::vector<float> out(20, 7.0f);
    GatherBags(pooling, 2, 10, nullptr, nullptr, offsets.data(), out.data(), 10);
    EXPECT_EQ(out, std::vector<float>(20, 0.0f));
  }
}

// Bags with and without offsets and weights: empty, single and longer ones, a weight of 0, and one
// bag whose weights add up to 0.
struct NaiveBags {
  std::vector<uint32_t> positions, offsets;
  std::vector<float> weights;

  NaiveBags(int64_t dim, bool ragged, bool weighted) {
    offsets = ragged ? std::vector<uint32_t>{0, 0, 1, 4, 4, 6, 13, 13}
                     : std::vector<uint32_t>{0, 1, 2, 3, 4, 5};
    positions = Positions(RngKey(dim), offsets.back());
    weights.assign(offsets.back(), 1);
    if (!weighted) return;
    weights = Uniform(RngKey(9).With(dim), offsets.back(), -2, 2);
    weights[2] = 0;
    if (ragged) weights[5] = -weights[4];
  }
  int64_t rows() const { return static_cast<int64_t>(offsets.size()) - 1; }
  Bags bags(bool ragged, bool weighted) const {
    return {positions.data(), ragged ? offsets.data() : nullptr,
            weighted ? weights.data() : nullptr};
  }
  double Scale(Pooling pooling, int64_t r) const {
    double sum = 0, squares = 0;
    for (uint32_t k = offsets[r]; k < offsets[r + 1]; ++k) {
      sum += weights[k];
      squares += weights[k] * weights[k];
    }
    const double divisor = pooling == Pooling::kMean    ? sum
                           : pooling == Pooling::kSqrtN ? std::sqrt(squares)
                                                        : 1;
    return divisor == 0 ? 0 : 1 / divisor;
  }
};

// Calls check(ragged, weighted, dim, gap) for every shape of bags.
template <typename Check>
void ForAllBags(Check check) {
  for (int64_t dim : TailSizes()) {
    for (int64_t gap : {0, 5}) {
      for (bool ragged : {false, true}) {
        for (bool weighted : {false, true}) check(ragged, weighted, dim, gap);
      }
    }
  }
}

std::vector<float> ToFloats(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

void CheckWeightedBags(Pooling pooling, bool ragged, bool weighted, int64_t dim, int64_t gap) {
  const NaiveBags naive(dim, ragged, weighted);
  const Bags bags = naive.bags(ragged, weighted);
  const int64_t stride = dim + gap;
  EdgeBuffer values(kDistinct * dim), out(Extent(naive.rows(), dim, stride));
  values.Assign(Uniform(RngKey(1).With(dim), values.size()));
  std::vector<double> expected(out.data(), out.data() + out.size());
  std::vector<double> sums(values.data(), values.data() + values.size());
  for (int64_t r = 0; r < naive.rows(); ++r) {
    for (int64_t i = 0; i < dim; ++i) {
      double sum = 0;
      for (uint32_t k = naive.offsets[r]; k < naive.offsets[r + 1]; ++k) {
        sum += naive.weights[k] * values[naive.positions[k] * dim + i];
      }
      expected[r * stride + i] = sum * naive.Scale(pooling, r);
    }
  }
  GatherWeightedBags(pooling, naive.rows(), dim, values.data(), bags, out.data(), stride);
  EXPECT_TRUE(Near(ToFloats(expected), out, 2e-5, 2e-5)) << "dim " << dim << " gap " << gap;

  for (int64_t r = 0; r < naive.rows(); ++r) {
    for (uint32_t k = naive.offsets[r]; k < naive.offsets[r + 1]; ++k) {
      for (int64_t i = 0; i < dim; ++i) {
        sums[naive.positions[k] * dim + i] +=
            naive.weights[k] * naive.Scale(pooling, r) * out[r * stride + i];
      }
    }
  }
  ScatterAddWeightedBags(pooling, naive.rows(), dim, out.data(), stride, bags, values.data());
  EXPECT_TRUE(Near(ToFloats(sums), values, 1e-4, 1e-4)) << "dim " << dim << " gap " << gap;
}

TEST_P(RowsTest, WeightedBagsEqualTheirScalarTwins) {
  ForAllBags([](bool ragged, bool weighted, int64_t dim, int64_t gap) {
    for (Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kSqrtN}) {
      CheckWeightedBags(pooling, ragged, weighted, dim, gap);
    }
  });
}

void CheckSumSquares(bool ragged, bool weighted, int64_t dim, int64_t gap) {
  const NaiveBags naive(dim, ragged, weighted);
  const Bags bags = naive.bags(ragged, weighted);
  const int64_t stride = 2 * dim + gap;
  EdgeBuffer values(kDistinct * dim), grads(kDistinct * dim);
  EdgeBuffer out(Extent(naive.rows(), 2 * dim, stride));
  values.Assign(Uniform(RngKey(1).With(dim), values.size()));
  grads.Assign(Uniform(RngKey(2).With(dim), values.size()));
  std::vector<float> expected = out.ToVector();
  std::vector<double> sums(grads.data(), grads.data() + grads.size());
  for (int64_t r = 0; r < naive.rows(); ++r) {
    for (int64_t i = 0; i < dim; ++i) {
      double sum = 0, squares = 0;
      for (uint32_t k = naive.offsets[r]; k < naive.offsets[r + 1]; ++k) {
        const double v = naive.weights[k] * values[naive.positions[k] * dim + i];
        sum += v;
        squares += v * v;
      }
      expected[r * stride + i] = static_cast<float>(sum);
      expected[r * stride + dim + i] = static_cast<float>(squares);
    }
  }
  GatherSumSquares(naive.rows(), dim, values.data(), bags, out.data(), stride);
  EXPECT_TRUE(Near(expected, out, 1e-5, 1e-5)) << "dim " << dim << " gap " << gap;

  for (int64_t r = 0; r < naive.rows(); ++r) {
    for (uint32_t k = naive.offsets[r]; k < naive.offsets[r + 1]; ++k) {
      for (int64_t i = 0; i < dim; ++i) {
        const int64_t at = naive.positions[k] * dim + i;
        const double w = naive.weights[k];
        sums[at] += w * out[r * stride + i] + 2 * w * w * values[at] * out[r * stride + dim + i];
      }
    }
  }
  ScatterAddSumSquares(naive.rows(), dim, values.data(), out.data(), stride, bags, grads.data());
  EXPECT_TRUE(Near(ToFloats(sums), grads, 1e-4, 1e-4)) << "dim " << dim << " gap " << gap;
}

TEST_P(RowsTest, SumsAndSquaresEqualTheirScalarTwins) { ForAllBags(CheckSumSquares); }

void CheckSequences(int64_t width, bool ragged, bool weighted, int64_t dim, int64_t gap) {
  const NaiveBags naive(dim, ragged, weighted);
  const Bags bags = naive.bags(ragged, weighted);
  const int64_t stride = width * dim + gap;
  EdgeBuffer values(kDistinct * dim), out(Extent(naive.rows(), width * dim, stride));
  values.Assign(Uniform(RngKey(1).With(dim), values.size()));
  std::vector<float> expected = out.ToVector();
  std::vector<double> sums(values.data(), values.data() + values.size());
  for (int64_t r = 0; r < naive.rows(); ++r) {
    const int64_t length = naive.offsets[r + 1] - naive.offsets[r];
    for (int64_t p = 0; p < width; ++p) {
      for (int64_t i = 0; i < dim; ++i) {
        const int64_t k = naive.offsets[r] + p;
        float& to = expected[r * stride + p * dim + i];
        to = p < length ? naive.weights[k] * values[naive.positions[k] * dim + i] : 0;
        if (p < length) sums[naive.positions[k] * dim + i] += naive.weights[k] * to;
      }
    }
  }
  GatherSequences(naive.rows(), width, dim, values.data(), bags, out.data(), stride);
  EXPECT_TRUE(Near(expected, out, 0, 0)) << "dim " << dim << " gap " << gap;
  ScatterAddSequences(naive.rows(), width, dim, out.data(), stride, bags, values.data());
  EXPECT_TRUE(Near(ToFloats(sums), values, 1e-5, 1e-5)) << "dim " << dim << " gap " << gap;
}

TEST_P(RowsTest, SequencesAreCutPaddedWithZerosAndScatteredLikeTheirScalarTwins) {
  ForAllBags([](bool ragged, bool weighted, int64_t dim, int64_t gap) {
    for (int64_t width : {1, 3, 8}) CheckSequences(width, ragged, weighted, dim, gap);
  });
}

void CheckCopyAndAdd(int64_t rows, int64_t columns, int64_t in_stride, int64_t out_stride) {
  EdgeBuffer in(Extent(rows, columns, in_stride)), out(Extent(rows, columns, out_stride), 1);
  in.Assign(Uniform(RngKey(columns), in.size()));
  std::vector<float> copied = out.ToVector();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < columns; ++i) copied[r * out_stride + i] = in[r * in_stride + i];
  }
  CopyRows(rows, columns, in.data(), in_stride, out.data(), out_stride);
  EXPECT_TRUE(Near(copied, out, 0, 0)) << rows << " x " << columns;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < columns; ++i) copied[r * out_stride + i] += in[r * in_stride + i];
  }
  AddRows(rows, columns, in.data(), in_stride, out.data(), out_stride);
  EXPECT_TRUE(Near(copied, out, 0, 0)) << rows << " x " << columns;
}

TEST_P(RowsTest, CopyAndAddRowsTouchOnlyTheirColumns) {
  for (int64_t columns : TailSizes()) {
    for (int64_t rows : {0, 1, 5}) {
      CheckCopyAndAdd(rows, columns, columns, columns + 3);
      CheckCopyAndAdd(rows, columns, columns + 2, columns);
      CheckCopyAndAdd(rows, columns, columns, columns);
    }
  }
}

}  // namespace
}  // namespace flotilla::kernels
