#include <gtest/gtest.h>

#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/shape.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {
namespace {

TEST(ShapeTest, SizesAndText) {
  const Shape shape = Shape::PerRow({3, 4});
  EXPECT_TRUE(shape.per_row());
  EXPECT_EQ(shape.row_size(), 12);
  EXPECT_EQ(shape.size(5), 60);
  EXPECT_EQ(shape.ToString(), "(batch, 3, 4)");
  EXPECT_EQ(Shape{}.size(5), 1);
  EXPECT_EQ(Shape{}.ToString(), "()");
  EXPECT_EQ((Shape{{2, 3}}).size(5), 6);
}

TEST(DenseLayoutTest, ParametersStartOnCacheLinesAndDoNotOverlap) {
  const std::vector<ParameterSpec> specs = {
      {.name = "a", .shape = {3, 5}}, {.name = "b", .shape = {16}}, {.name = "c", .shape = {1}}};
  const DenseLayout layout(specs);
  EXPECT_EQ(layout.offset(0), 0);
  EXPECT_EQ(layout.offset(1), 16);
  EXPECT_EQ(layout.offset(2), 32);
  EXPECT_EQ(layout.length(0), 15);
  EXPECT_EQ(layout.size(), 48);
}

TEST(ShardTest, ShardsAreEvenAndServersGetContiguousRanges) {
  std::vector<int> counts(kVirtualShards);
  for (uint64_t id = 0; id < 512000; ++id) ++counts[VirtualShard(id)];
  for (int count : counts) EXPECT_NEAR(count, 1000, 200);
  for (int servers : {1, 2, 5, 512}) {
    int last = 0;
    for (int shard = 0; shard < kVirtualShards; ++shard) {
      const int server = ServerOfShard(shard, servers);
      EXPECT_TRUE(server == last || server == last + 1);
      last = server;
    }
    EXPECT_EQ(last, servers - 1);
  }
}

TEST(BatchTest, CheckNamesTheFieldThatIsWrong) {
  const std::vector<InputSpec> inputs = {{.name = "dense", .width = 2},
                                         {.name = "C1", .kind = InputKind::kIds}};
  Batch batch{.rows = 2, .fields = std::vector<Field>(2)};
  batch.fields[0].values.resize(4);
  batch.fields[1].ids.ids = {7, 8};
  EXPECT_TRUE(batch.Check(inputs).ok());
  batch.fields[1].ids.ids.push_back(9);
  EXPECT_EQ(Message(batch.Check(inputs)), "input C1: 3 ids for 2 rows and no offsets");
  batch.fields[1].ids.offsets = {0, 1, 3};
  EXPECT_TRUE(batch.Check(inputs).ok());
  batch.fields[1].ids.weights = {1, 2};
  EXPECT_EQ(Message(batch.Check(inputs)), "input C1: 2 weights for 3 ids");
  batch.fields[1].ids.weights.push_back(3);
  EXPECT_TRUE(batch.Check(inputs).ok());
  batch.fields[1].ids.offsets = {0, 1, 2};
  EXPECT_FALSE(batch.Check(inputs).ok());
  batch.fields[0].values.resize(3);
  EXPECT_EQ(Message(batch.Check(inputs)), "input dense: 3 values for 2 rows of width 2");
}

TEST(RaggedIdsTest, RowsAreFoundWithAndWithoutOffsets) {
  RaggedIds ids{.ids = {5, 6, 7}, .offsets = {}};
  EXPECT_EQ(ids.row(1)[0], 6u);
  ids.offsets = {0, 0, 3};
  EXPECT_TRUE(ids.row(0).empty());
  EXPECT_EQ(ids.row(1).size(), 3u);
}

TEST(DenseRangeTest, RangesOfAllServersAreTheBlockInWholeBlocks) {
  for (const int64_t floats : {0, 16, 8192, 8208, 3 * 8192, 100'000}) {
    for (const int servers : {1, 2, 5, 40}) {
      int64_t at = 0;
      for (int s = 0; s < servers; ++s) {
        const DenseRange range = DenseRangeOf(floats, s, servers);
        EXPECT_EQ(range.begin, at);
        EXPECT_TRUE(range.size() == 0 || range.begin % kDenseBlockFloats == 0);
        EXPECT_TRUE(range.size() == 0 || range.size() >= std::min(floats, kDenseBlockFloats));
        at = range.end;
      }
      EXPECT_EQ(at, floats);
    }
  }
}

TEST(DenseRangeTest, SlicesNameWhatARangeHoldsOfEachParameter) {
  std::vector<ParameterSpec> parameters(3);
  parameters[0].shape = {10};
  parameters[1].shape = {20'000};
  parameters[2].shape = {5};
  const DenseLayout layout(parameters);
  EXPECT_EQ(SlicesOf(layout, {0, 8192}), (std::vector<DenseSlice>{{0, 0, 10}, {1, 0, 8176}}));
  EXPECT_EQ(SlicesOf(layout, {8192, layout.size()}),
            (std::vector<DenseSlice>{{1, 8176, 20'000 - 8176}, {2, 0, 5}}));
  EXPECT_TRUE(SlicesOf(layout, {8192, 8192}).empty());
}

}  // namespace
}  // namespace flotilla
