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
