#include "flotilla/table/row_cut.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace flotilla {
namespace {

class RowCutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *RowStore::Make({.dim = 2, .states = 0, .keep_meta = false}, 0, {});
    ASSERT_TRUE(store_->Take(200).ok());
    for (uint32_t row = 0; row < 200; ++row) WeightsOf(store_->block(row))[1] = Value(row);
  }
  static float Value(uint32_t row) { return static_cast<float>(row); }

  // Changes a row like an update.
  void Change(RowCut* cut, int shard, uint32_t row) {
    cut->Keep(shard, row);
    WeightsOf(store_->block(row))[1] += 1000;
  }

  std::vector<float> Read(RowCut* cut, int shard, const std::vector<uint32_t>& rows) {
    std::vector<float> values;
    const Status status =
        cut->Read(shard, rows, [&](std::byte* block) { values.push_back(WeightsOf(block)[1]); });
    EXPECT_TRUE(status.ok()) << status;
    return values;
  }

  std::unique_ptr<RowStore> store_;
};

TEST_F(RowCutTest, RowsAreReadAsTheyWereWhetherChangedOrNot) {
  RowCut cut(*store_, {150, 50});
  std::vector<uint32_t> rows;
  std::vector<float> expected;
  for (uint32_t row = 0; row < 150; ++row) {
    rows.push_back(row);
    expected.push_back(Value(row));
    if (row % 3 == 0) Change(&cut, 0, row);
    if (row % 9 == 0) Change(&cut, 0, row);
  }
  EXPECT_EQ(cut.count(0), 150u);
  EXPECT_EQ(Read(&cut, 0, rows), expected);
}

TEST_F(RowCutTest, ReadingEndsTheCopyingOfAShardAndIsPossibleOnce) {
  RowCut cut(*store_, {100, 100});
  Change(&cut, 0, 1);
  const size_t with_copy = cut.memory_bytes();
  EXPECT_EQ(Read(&cut, 0, {1}), (std::vector<float>{1}));
  EXPECT_LE(cut.memory_bytes(), with_copy - store_->layout().stride());
  const size_t after = cut.memory_bytes();
  for (uint32_t row = 2; row < 100; ++row) Change(&cut, 0, row);
  EXPECT_EQ(cut.memory_bytes(), after);
  EXPECT_EQ(Message(cut.Read(0, std::vector<uint32_t>{1}, [](std::byte*) {})),
            "shard 0 of the cut was already read");
  Change(&cut, 1, 150);
  EXPECT_GT(cut.memory_bytes(), after);
}

TEST_F(RowCutTest, RowsThatCameLaterAreNotCopied) {
  RowCut cut(*store_, {200});
  const size_t before = cut.memory_bytes();
  ASSERT_TRUE(store_->Take(100).ok());
  for (uint32_t row = 200; row < 300; ++row) Change(&cut, 0, row);
  EXPECT_EQ(cut.memory_bytes(), before);
}

}  // namespace
}  // namespace flotilla
