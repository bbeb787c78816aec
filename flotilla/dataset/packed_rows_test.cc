#include "flotilla/dataset/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

std::vector<InputSpec> Inputs() {
  return {{"x", InputKind::kDense, 3}, {"one", InputKind::kIds, 1}, {"bag", InputKind::kIds, 1}};
}

Batch NoRows() {
  Batch batch;
  batch.fields.resize(3);
  return batch;
}

// Rows with 0 to 3 ids in the bag.
Batch RandomRows(uint64_t seed, int64_t rows) {
  const RngKey key(seed);
  Batch batch = NoRows();
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

PackedRows Packed(const Batch& batch) {
  PackedRows rows(Inputs());
  EXPECT_TRUE(rows.Add(batch).ok());
  return rows;
}

// Rows with one id in the bag and no offsets.
Batch PlainRows(int64_t count) {
  Batch batch = RandomRows(3, count);
  batch.fields[2].ids.ids.resize(count);
  std::iota(batch.fields[2].ids.ids.begin(), batch.fields[2].ids.ids.end(), 1);
  batch.fields[2].ids.offsets.clear();
  return batch;
}

TEST(PackedRowsTest, RangesAreAppendedAfterEarlierRows) {
  const Batch from = RandomRows(1, 20);
  const PackedRows rows = Packed(from);
  Batch to = NoRows();
  rows.AppendTo(3, 9, &to);
  rows.AppendTo(5, 5, &to);
  rows.AppendTo(15, 20, &to);
  ASSERT_EQ(to.rows, 11);
  ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
  EXPECT_TRUE(to.fields[1].ids.one_per_row());
  for (int64_t i = 0; i < 6; ++i) ExpectSameRow(to, i, from, 3 + i);
  for (int64_t i = 6; i < 11; ++i) ExpectSameRow(to, i, from, 9 + i);
}

TEST(PackedRowsTest, RowsComeBackInAnyOrderWithRepeats) {
  for (const Batch& from : {RandomRows(2, 5000), PlainRows(5000)}) {
    PackedRows rows(Inputs());
    // Added in pieces of all sizes, with more pieces than one step of the index.
    for (int64_t begin = 0, size = 0; begin < 5000; begin += size) {
      size = std::min<int64_t>(begin < 1500 ? 1 : 1 + begin % 700, 5000 - begin);
      ASSERT_TRUE(rows.Add(from, begin, begin + size).ok());
    }
    ASSERT_EQ(rows.rows(), 5000);
    std::vector<uint32_t> order = {4999, 0, 7, 7, 3};
    for (uint64_t i = 0; i < 3000; ++i) {
      order.push_back(static_cast<uint32_t>(RngKey(5).Below(i, 5000)));
    }
    Batch to = NoRows();
    rows.AppendTo(0, 2, &to);
    rows.AppendTo(order, &to);
    ASSERT_EQ(to.rows, 2 + static_cast<int64_t>(order.size()));
    ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
    for (size_t i = 0; i < order.size(); ++i) ExpectSameRow(to, 2 + i, from, order[i]);
  }
}

TEST(PackedRowsTest, RowsTakeTheBytesOfTheirValues) {
  // Three numbers, a large and a small id.
  EXPECT_EQ(Packed(PlainRows(1000)).memory_bytes(), 1000 * (3 * 4 + 8 + 4));
}

// Ids below 2^32 take half the bytes until one that is not arrives.
TEST(PackedRowsTest, IdsOfAllSizesComeBack) {
  constexpr uint64_t kLargest = (uint64_t{1} << 32) - 1;
  for (const uint64_t last : {uint64_t{5}, kLargest, kLargest + 1, ~uint64_t{0}}) {
    Batch from = PlainRows(200);
    for (uint64_t& id : from.fields[1].ids.ids) id &= kLargest;
    from.fields[1].ids.ids[150] = last;
    PackedRows rows(Inputs());
    ASSERT_TRUE(rows.Add(from, 0, 150).ok());
    EXPECT_EQ(rows.memory_bytes(), 150 * (3 * 4 + 2 * 4));
    ASSERT_TRUE(rows.Add(from, 150, 200).ok());
    Batch to = NoRows();
    rows.AppendTo(0, 200, &to);
    ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
    for (int64_t i = 0; i < 200; ++i) ExpectSameRow(to, i, from, i);
    // Join gives all parts the same layout.
    std::vector<PackedRows> parts;
    for (int part = 0; part < 2; ++part) {
      parts.emplace_back(Inputs());
      ASSERT_TRUE(parts.back().Add(from, part * 100, part * 100 + 100, part).ok());
    }
    const StatusOr<PackedRows> joined = PackedRows::Join(std::move(parts));
    ASSERT_TRUE(joined.ok()) << joined.status();
    Batch all = NoRows();
    joined->AppendTo(0, 200, &all);
    for (int64_t i = 0; i < 200; ++i) ExpectSameRow(all, i, from, i);
  }
}

TEST(PackedRowsTest, RowsWithAndWithoutOffsetsMix) {
  const Batch ragged = RandomRows(3, 5), plain = PlainRows(5);
  for (const bool ragged_first : {false, true}) {
    PackedRows rows(Inputs());
    ASSERT_TRUE(rows.Add(ragged_first ? ragged : plain).ok());
    ASSERT_TRUE(rows.Add(ragged_first ? plain : ragged).ok());
    Batch to = NoRows();
    rows.AppendTo(0, 10, &to);
    ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
    for (int64_t i = 0; i < 5; ++i) {
      ExpectSameRow(to, ragged_first ? 5 + i : i, plain, i);
      ExpectSameRow(to, ragged_first ? i : 5 + i, ragged, i);
    }
  }
}

TEST(PackedRowsTest, WeightsStayWithTheirIds) {
  Batch weighted = RandomRows(4, 50);
  for (size_t i = 0; i < weighted.fields[2].ids.ids.size(); ++i) {
    weighted.fields[2].ids.weights.push_back(0.5f * static_cast<float>(i));
  }
  weighted.fields[1].ids.weights.assign(50, 3);
  const Batch plain = PlainRows(5);
  for (const bool weighted_first : {false, true}) {
    PackedRows rows(Inputs());
    ASSERT_TRUE(rows.Add(weighted_first ? weighted : plain).ok());
    ASSERT_TRUE(rows.Add(weighted_first ? plain : weighted).ok());
    std::vector<uint32_t> order(55);
    std::iota(order.begin(), order.end(), 0);
    std::reverse(order.begin(), order.end());
    Batch to = NoRows();
    rows.AppendTo(order, &to);
    ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
    for (int64_t i = 0; i < 55; ++i) {
      const auto row = static_cast<int64_t>(order[i]);
      const bool is_plain = weighted_first ? row >= 50 : row < 5;
      const int64_t source = row - (is_plain == weighted_first ? (is_plain ? 50 : 5) : 0);
      const Batch& from = is_plain ? plain : weighted;
      ExpectSameRow(to, i, from, source);
      for (const int f : {1, 2}) {
        const RaggedIds &got = to.fields[f].ids, &expected = from.fields[f].ids;
        for (size_t k = 0; k < got.row(i).size(); ++k) {
          EXPECT_EQ(got.weights[got.begin_of(i) + k],
                    is_plain ? 1 : expected.weights[expected.begin_of(source) + k]);
        }
      }
    }
  }
}

TEST(PackedRowsTest, JoinOrdersByTheKeys) {
  for (const bool mixed : {false, true}) {
    const Batch from = RandomRows(6, 30), plain = PlainRows(10);
    std::vector<PackedRows> parts;
    parts.emplace_back(Inputs());
    parts.emplace_back(Inputs());
    parts.emplace_back(Inputs());  // stays empty
    ASSERT_TRUE(parts[0].Add(from, 0, 10, /*key=*/9).ok());
    ASSERT_TRUE(parts[0].Add(from, 10, 13, /*key=*/1).ok());
    ASSERT_TRUE(mixed ? parts[1].Add(plain, 5).ok() : parts[1].Add(from, 13, 30, 5).ok());
    StatusOr<PackedRows> joined = PackedRows::Join(std::move(parts));
    ASSERT_TRUE(joined.ok()) << joined.status();
    Batch to = NoRows();
    joined->AppendTo(0, joined->rows(), &to);
    const int64_t middle = mixed ? 10 : 17;
    ASSERT_EQ(to.rows, 13 + middle);
    ASSERT_TRUE(to.Check(Inputs()).ok()) << to.Check(Inputs());
    for (int64_t i = 0; i < 3; ++i) ExpectSameRow(to, i, from, 10 + i);
    for (int64_t i = 0; i < middle; ++i) {
      ExpectSameRow(to, 3 + i, mixed ? plain : from, mixed ? i : 13 + i);
    }
    for (int64_t i = 0; i < 10; ++i) ExpectSameRow(to, 3 + middle + i, from, i);
    // More rows can follow.
    ASSERT_TRUE(joined->Add(from, 20, 21).ok());
    to.Clear();
    joined->AppendTo(13 + middle, 14 + middle, &to);
    ExpectSameRow(to, 0, from, 20);
  }
}

TEST(PackedRowsTest, ClearedRowsAreReplaced) {
  const Batch from = RandomRows(4, 50);
  PackedRows rows = Packed(RandomRows(7, 60));
  rows.Clear();
  EXPECT_EQ(rows.rows(), 0);
  ASSERT_TRUE(rows.Add(from).ok());
  Batch to = NoRows();
  rows.AppendTo(0, 50, &to);
  ASSERT_EQ(to.rows, 50);
  for (int64_t i = 0; i < 50; ++i) ExpectSameRow(to, i, from, i);
}

TEST(PackedRowsTest, SecondFillOfABatchDoesNotMoveItsMemory) {
  const PackedRows rows = Packed(RandomRows(4, 50));
  std::vector<uint32_t> order(50);
  std::iota(order.rbegin(), order.rend(), 0);
  Batch to = NoRows();
  rows.AppendTo(order, &to);
  const float* values = to.fields[0].values.data();
  const uint64_t* ids = to.fields[1].ids.ids.data();
  to.Clear();
  rows.AppendTo(0, 50, &to);
  EXPECT_EQ(to.fields[0].values.data(), values);
  EXPECT_EQ(to.fields[1].ids.ids.data(), ids);
}

}  // namespace
}  // namespace flotilla
