#include "flotilla/dataset/cache_block.h"

#include <gtest/gtest.h>

#include <cstring>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/packed_rows.h"

namespace flotilla {
namespace {

const std::vector<InputSpec> kColumns = {{"dense", InputKind::kDense, 3},
                                         {"one", InputKind::kIds, 1},
                                         {"bag", InputKind::kIds, 1},
                                         {"label", InputKind::kLabel, 1}};

// Rows whose ids are below `bound`.
Batch MakeRows(int64_t rows, uint64_t bound) {
  const RngKey key(3);
  Batch batch{.rows = rows, .fields = std::vector<Field>(4)};
  batch.fields[2].ids.offsets.push_back(0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int i = 0; i < 3; ++i) batch.fields[0].values.push_back(key.Normal(3 * r + i));
    batch.fields[1].ids.ids.push_back(key.With(1).Below(r, bound));
    for (uint64_t i = 0; i < key.With(2).Below(r, 4); ++i) {
      batch.fields[2].ids.ids.push_back(key.With(3).Below(10 * r + i, bound));
    }
    batch.fields[2].ids.offsets.push_back(batch.fields[2].ids.ids.size());
    batch.fields[3].values.push_back(r % 2);
  }
  return batch;
}

// The bytes at the alignment that a view requires.
std::vector<uint64_t> Aligned(const std::string& bytes) {
  std::vector<uint64_t> words((bytes.size() + 7) / 8);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

std::span<const char> BytesOf(const std::vector<uint64_t>& words, size_t bytes) {
  return {reinterpret_cast<const char*>(words.data()), bytes};
}

void ExpectEqual(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.rows, b.rows);
  for (size_t f = 0; f < kColumns.size(); ++f) {
    EXPECT_EQ(a.fields[f].values, b.fields[f].values);
    EXPECT_EQ(a.fields[f].ids.ids, b.fields[f].ids.ids);
    EXPECT_EQ(a.fields[f].ids.offsets, b.fields[f].ids.offsets);
    EXPECT_EQ(a.fields[f].ids.weights, b.fields[f].ids.weights);
  }
}

TEST(CacheBlockTest, AnyRangeOfRowsComesBackForEveryWidthOfIds) {
  for (const uint64_t bound :
       {uint64_t{200}, uint64_t{60'000}, uint64_t{1} << 31, uint64_t{1} << 63}) {
    for (const int64_t rows : {1, 7, 100}) {
      const Batch batch = MakeRows(rows, bound);
      const std::string packed = PackBlock(kColumns, batch);
      const std::vector<uint64_t> words = Aligned(packed);
      StatusOr<BlockView> view = BlockView::Make(kColumns, rows, BytesOf(words, packed.size()));
      ASSERT_TRUE(view.ok()) << view.status();
      for (const auto& [begin, end] :
           {std::pair<int64_t, int64_t>{0, rows}, {rows / 3, rows / 2 + 1}}) {
        // Appended after existing rows.
        Batch got = MakeRows(3, 9), expected{.fields = std::vector<Field>(std::size(kColumns))};
        PackedRows both(kColumns);
        ASSERT_TRUE(both.Add(got).ok());
        ASSERT_TRUE(both.Add(batch, begin, end).ok());
        both.AppendTo(0, both.rows(), &expected);
        view->Append(kColumns, begin, end, &got);
        ExpectEqual(got, expected);
      }
    }
  }
}

TEST(CacheBlockTest, WeightsComeBackBesideRowsWithoutThem) {
  Batch weighted = MakeRows(40, 200);
  for (const uint64_t id : weighted.fields[2].ids.ids) {
    weighted.fields[2].ids.weights.push_back(static_cast<float>(id) / 2);
  }
  const Batch plain = MakeRows(40, 200);
  const std::string packed[] = {PackBlock(kColumns, weighted), PackBlock(kColumns, plain)};
  for (const bool weighted_first : {false, true}) {
    Batch got{.fields = std::vector<Field>(4)};
    for (const bool take_weighted : {weighted_first, !weighted_first}) {
      const std::string& bytes = packed[take_weighted ? 0 : 1];
      const std::vector<uint64_t> words = Aligned(bytes);
      StatusOr<BlockView> view = BlockView::Make(kColumns, 40, BytesOf(words, bytes.size()));
      ASSERT_TRUE(view.ok()) << view.status();
      view->Append(kColumns, 10, 30, &got);
    }
    PackedRows both(kColumns);
    ASSERT_TRUE(both.Add(weighted_first ? weighted : plain, 10, 30).ok());
    ASSERT_TRUE(both.Add(weighted_first ? plain : weighted, 10, 30).ok());
    Batch expected{.fields = std::vector<Field>(4)};
    both.AppendTo(0, 40, &expected);
    ExpectEqual(got, expected);
    EXPECT_FALSE(got.fields[2].ids.weights.empty());
  }
}

TEST(CacheBlockTest, SmallIdsTakeFewBytes) {
  EXPECT_LT(PackBlock(kColumns, MakeRows(1000, 200)).size(),
            PackBlock(kColumns, MakeRows(1000, uint64_t{1} << 40)).size() - 16'000);
}

TEST(CacheBlockTest, BytesThatAreNoSuchBlockAreRefused) {
  const std::string packed = PackBlock(kColumns, MakeRows(20, 1000));
  const std::vector<uint64_t> words = Aligned(packed);
  auto make = [&](std::span<const InputSpec> inputs, int64_t rows, size_t bytes) {
    return BlockView::Make(inputs, rows, BytesOf(words, bytes)).ok();
  };
  EXPECT_TRUE(make(kColumns, 20, packed.size()));
  EXPECT_FALSE(make(kColumns, 19, packed.size()));
  EXPECT_FALSE(make(kColumns, 21, packed.size()));
  EXPECT_FALSE(make(std::span(kColumns).first(3), 20, packed.size()));
  for (size_t bytes = 0; bytes < packed.size(); bytes += 8) EXPECT_FALSE(make(kColumns, 20, bytes));
}

TEST(CacheBlockTest, NoFlippedByteMakesAViewThatReadsOutside) {
  // The checksum detects such damage first, but the view must not rely on it. Out-of-bounds
  // accesses are caught by the sanitizers.
  Batch rows = MakeRows(20, 1000);
  rows.fields[2].ids.weights.assign(rows.fields[2].ids.ids.size(), 0.5f);
  const std::string packed = PackBlock(kColumns, rows);
  for (size_t place = 0; place < packed.size(); ++place) {
    std::string bad = packed;
    bad[place] = static_cast<char>(bad[place] ^ 0x81);
    const std::vector<uint64_t> words = Aligned(bad);
    StatusOr<BlockView> view = BlockView::Make(kColumns, 20, BytesOf(words, bad.size()));
    Batch batch{.fields = std::vector<Field>(4)};
    if (view.ok()) view->Append(kColumns, 0, 20, &batch);
    EXPECT_TRUE(!view.ok() || batch.Check(kColumns).ok());
  }
}

}  // namespace
}  // namespace flotilla
