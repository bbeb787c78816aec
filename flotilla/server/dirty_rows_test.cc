#include "flotilla/server/dirty_rows.h"

#include <gtest/gtest.h>

namespace flotilla {
namespace {

using Ids = std::vector<uint64_t>;

constexpr int64_t kFloats = 2 * kDenseBlockFloats + 100;
constexpr size_t kAll = 1'000;

DirtyRows::Changes TakeOk(DirtyRows* dirty, int trainer, uint64_t sequence, size_t max = kAll) {
  StatusOr<DirtyRows::Changes> changes = dirty->Take(trainer, sequence, max);
  EXPECT_TRUE(changes.ok()) << changes.status();
  return changes.ok() ? *std::move(changes) : DirtyRows::Changes();
}

TEST(DirtyRowsTest, OthersSeeRowsAndBlocksOfATrainerAndItDoesNot) {
  DirtyRows dirty(3, 2, kFloats);
  dirty.Mark(0, 1, std::vector<uint32_t>{7}, Ids{70});
  std::vector<float> delta(kFloats);
  delta[kDenseBlockFloats + 5] = 1;
  delta[kFloats - 1] = -1;
  dirty.MarkDense(0, delta);
  for (const int trainer : {1, 2}) {
    dirty.Begin(trainer, 4);
    const DirtyRows::Changes changes = TakeOk(&dirty, trainer, 4);
    EXPECT_EQ(changes.ids, (std::vector<Ids>{{}, {70}}));
    // The first block is unchanged; the last one is shorter.
    EXPECT_EQ(changes.dense, (std::vector<DenseRange>{{kDenseBlockFloats, 2 * kDenseBlockFloats},
                                                      {2 * kDenseBlockFloats, kFloats}}));
    EXPECT_FALSE(changes.more);
  }
  dirty.Begin(0, 1);
  EXPECT_EQ(TakeOk(&dirty, 0, 1).ids, (std::vector<Ids>{{}, {}}));
  EXPECT_TRUE(TakeOk(&dirty, 0, 1).dense.empty());
}

TEST(DirtyRowsTest, AnAnswerIsRepeatedUntilTheNextRequestBegins) {
  DirtyRows dirty(2, 1, kFloats);
  dirty.Mark(0, 0, std::vector<uint32_t>{1}, Ids{10});
  dirty.MarkDense(0, std::vector<float>(kFloats, 1));
  dirty.Begin(1, 1);
  EXPECT_EQ(TakeOk(&dirty, 1, 1).ids, std::vector<Ids>{{10}});
  dirty.Mark(0, 0, std::vector<uint32_t>{2}, Ids{20});
  EXPECT_EQ(TakeOk(&dirty, 1, 1).ids, std::vector<Ids>{{10}});
  EXPECT_EQ(TakeOk(&dirty, 1, 1).dense.size(), 3u);
  dirty.Begin(1, 2);
  EXPECT_EQ(TakeOk(&dirty, 1, 2).ids, std::vector<Ids>{{20}});
  EXPECT_TRUE(TakeOk(&dirty, 1, 2).dense.empty());
}

TEST(DirtyRowsTest, AnEarlierRequestNeitherTakesNorConfirmsAnything) {
  DirtyRows dirty(2, 1, kFloats);
  dirty.Begin(1, 1);
  dirty.Begin(1, 2);
  dirty.Mark(0, 0, std::vector<uint32_t>{1}, Ids{10});
  EXPECT_EQ(dirty.Take(1, 1, kAll).status(), FailedPrecondition("pull dirty 1 has been answered"));
  EXPECT_EQ(TakeOk(&dirty, 1, 2).ids, std::vector<Ids>{{10}});
  dirty.Begin(1, 1);
  EXPECT_EQ(TakeOk(&dirty, 1, 2).ids, std::vector<Ids>{{10}});
}

TEST(DirtyRowsTest, MoreRowsThanAskedForComeWithTheNextRequests) {
  DirtyRows dirty(2, 2, 0);
  dirty.Mark(0, 0, std::vector<uint32_t>{0, 1, 2}, Ids{10, 11, 12});
  dirty.Mark(0, 1, std::vector<uint32_t>{0}, Ids{5});
  dirty.Begin(1, 1);
  DirtyRows::Changes changes = TakeOk(&dirty, 1, 1, 2);
  EXPECT_EQ(changes.ids, (std::vector<Ids>{{10, 11}, {5}}));
  EXPECT_TRUE(changes.more);
  dirty.Begin(1, 2);
  changes = TakeOk(&dirty, 1, 2, 2);
  EXPECT_EQ(changes.ids, (std::vector<Ids>{{12}, {}}));
  EXPECT_FALSE(changes.more);
}

}  // namespace
}  // namespace flotilla
