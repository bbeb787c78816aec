#include "flotilla/dataset/copy_rows.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

std::vector<InputSpec> Inputs() {
  return {{"x", InputKind::kDense, 3}, {"one", InputKind::kIds, 1}, {"bag", InputKind::kIds, 1}};
}

Batch EmptyBatch() {
  Batch batch;
  batch.fields.resize(3);
  return batch;
}

// Rows with 0 to 3 ids in the bag.
Batch RandomRows(uint64_t seed, int64_t rows) {
  const RngKey key(seed);
  Batch batch = EmptyBatch();
  batch.rows = rows;
  batch.fields[2].ids.offsets.push_back(0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < 3; ++k) batch.fields[0].values.push_back(key.Uniform(i * 8 + k));
    batch.fields[1].ids.ids.push_back(key.Bits(i * 8 + 3));
    RaggedIds& bag = batch.fields[2].ids;
    for (uint64_t k = 0; k < key.Below(i * 8 + 4, 4); ++k) bag.ids.push_back(i * 100 + k);
    bag.offsets.push_back(static_cast<uint32_t>(bag.ids.size()));
  }
  return batch;
}

void ExpectSameRow(const Batch& a, int64_t i, const Batch& b, int64_t j) {
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(a.fields[0].values[i * 3 + k], b.fields[0].values[j * 3 + k]);
  }
  for (int f : {1, 2}) {
    const std::span<const uint64_t> x = a.fields[f].ids.row(i), y = b.fields[f].ids.row(j);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << "field " << f;
  }
}

TEST(CopyRowsTest, AppendRowsCopiesARangeBehindWhatIsThere) {
  const Batch from = RandomRows(1, 20);
  Batch to = EmptyBatch();
  AppendRows(Inputs(), from, 3, 9, &to);
  AppendRows(Inputs(), from, 5, 5, &to);
  AppendRows(Inputs(), from, 15, 20, &to);
  ASSERT_EQ(to.rows, 11);
  ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
  EXPECT_TRUE(to.fields[1].ids.one_per_row());
  for (int64_t i = 0; i < 6; ++i) ExpectSameRow(to, i, from, 3 + i);
  for (int64_t i = 6; i < 11; ++i) ExpectSameRow(to, i, from, 9 + i);
}

TEST(CopyRowsTest, GatherRowsTakesAnyOrderWithRepeats) {
  const Batch from = RandomRows(2, 20);
  const std::vector<uint32_t> rows = {19, 0, 7, 7, 3};
  Batch to = EmptyBatch();
  AppendRows(Inputs(), from, 0, 2, &to);
  GatherRows(Inputs(), from, rows, &to);
  ASSERT_EQ(to.rows, 7);
  ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
  for (size_t i = 0; i < rows.size(); ++i) ExpectSameRow(to, 2 + i, from, rows[i]);
}

TEST(CopyRowsTest, RowsWithAndWithoutOffsetsMix) {
  Batch ragged = RandomRows(3, 5);
  Batch plain = RandomRows(3, 5);
  plain.fields[2].ids.ids.assign({1, 2, 3, 4, 5});
  plain.fields[2].ids.offsets.clear();
  const std::vector<uint32_t> rows = {4, 2};
  Batch to = EmptyBatch();
  AppendRows(Inputs(), plain, 0, 5, &to);
  AppendRows(Inputs(), ragged, 0, 5, &to);
  GatherRows(Inputs(), plain, rows, &to);
  AppendRows(Inputs(), plain, 1, 3, &to);
  ASSERT_EQ(to.rows, 14);
  ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
  for (int64_t i = 0; i < 5; ++i) {
    ExpectSameRow(to, i, plain, i);
    ExpectSameRow(to, 5 + i, ragged, i);
  }
  ExpectSameRow(to, 10, plain, 4);
  ExpectSameRow(to, 11, plain, 2);
  ExpectSameRow(to, 12, plain, 1);
}

TEST(CopyRowsTest, SecondFillOfABatchDoesNotMoveItsMemory) {
  const Batch from = RandomRows(4, 50);
  std::vector<uint32_t> rows(50);
  std::iota(rows.rbegin(), rows.rend(), 0);
  Batch to = EmptyBatch();
  GatherRows(Inputs(), from, rows, &to);
  const float* values = to.fields[0].values.data();
  const uint64_t* ids = to.fields[1].ids.ids.data();
  to.Clear();
  AppendRows(Inputs(), from, 0, 50, &to);
  EXPECT_EQ(to.fields[0].values.data(), values);
  EXPECT_EQ(to.fields[1].ids.ids.data(), ids);
}

}  // namespace
}  // namespace flotilla
