// Cuts of a SparseTable are exact while pushes continue.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/table/table_testing.h"

namespace flotilla {
namespace {

std::map<uint64_t, float> ReadAll(SparseTable* table, RowOrder order = RowOrder::kStorage) {
  std::map<uint64_t, float> rows;
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    const Status status =
        table->ReadCut(shard, order, [&](const RowView& row) { rows[row.id] = row.weights[0]; });
    EXPECT_TRUE(status.ok()) << status;
  }
  return rows;
}

std::vector<uint64_t> Range(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> ids(end - begin);
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

TEST(SparseTableCutTest, RowsReadAsTheyWereAndLaterRowsAreNotPartOfIt) {
  for (const TableKind& kind : TableKinds(5000)) {
    auto table = MustMakeTable(MakeTableSpec("emb", 2, kind.rows), 1, 1, kind.options);
    ASSERT_TRUE(table->Push(MakeRows(Range(0, 1000), 2, 3), {}).ok());
    ASSERT_TRUE(table->BeginCut().ok());
    ASSERT_TRUE(table->Push(MakeRows(Range(500, 1500), 2, 4), {}).ok());
    ASSERT_TRUE(table->Push(MakeRows(Range(500, 1500), 2, 4), {}).ok());
    ASSERT_TRUE(table->WriteRows(MakeRows(Range(0, 100), 2, 50)).ok());
    RowsInPlace open;
    ASSERT_TRUE(table->OpenRows(Range(100, 200), &open).ok());
    for (float* row : open.rows()) row[0] = 60;
    open.Close();
    const std::map<uint64_t, float> cut = ReadAll(table.get());
    EXPECT_EQ(cut.size(), 1000u);
    for (const auto& [id, weight] : cut) ASSERT_EQ(weight, 3) << id;
    EXPECT_EQ(table->Find(600)[0], 11);
    EXPECT_EQ(table->Find(50)[0], 50);
    EXPECT_EQ(table->Find(150)[0], 60);
    table->EndCut();
  }
}

TEST(SparseTableCutTest, RowsOpenedTogetherReadAsTheyWere) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2, 1000), 1, 1, {.in_order = true});
  ASSERT_TRUE(table->Push(MakeRows(Range(0, 900), 2, 3), {}).ok());
  ASSERT_TRUE(table->BeginCut().ok());
  for (int round = 0; round < 2; ++round) {
    AllRowsInPlace all;
    ASSERT_TRUE(table->OpenAllRows(&all).ok());
    for (uint64_t id = 0; id < 1000; ++id) all.rows().row(id)[0] += 1;
  }
  const std::map<uint64_t, float> cut = ReadAll(table.get());
  EXPECT_EQ(cut.size(), 900u);
  for (const auto& [id, weight] : cut) ASSERT_EQ(weight, 3) << id;
  EXPECT_EQ(table->Find(1)[0], 5);
  EXPECT_EQ(table->Find(950)[0], 2);
  table->EndCut();
}

TEST(SparseTableCutTest, StateAndMetaBelongToTheCut) {
  TableSpec spec = MakeTableSpec("emb", 2);
  spec.keep_meta = true;
  auto table = MustMakeTable(spec, 2);
  ASSERT_TRUE(table->Push(MakeRows({5}, 2, 1), {.rate = 1, .step = 3, .decay = {}}).ok());
  ASSERT_TRUE(table->BeginCut().ok());
  ASSERT_TRUE(table->Push(MakeRows({5}, 2, 1), {.rate = 1, .step = 4, .decay = {}}).ok());
  int rows = 0;
  ASSERT_TRUE(table
                  ->ReadCut(VirtualShard(5), RowOrder::kAscendingId,
                            [&](const RowView& row) {
                              ++rows;
                              EXPECT_EQ(row.id, 5u);
                              EXPECT_EQ(row.state[0], 8);
                              EXPECT_EQ(row.state[3], 9);
                              EXPECT_EQ(row.meta, (RowMeta{1, 3}));
                            })
                  .ok());
  EXPECT_EQ(rows, 1);
}

TEST(SparseTableCutTest, WrongOrderOfCallsIsAnError) {
  auto table = MustMakeTable(MakeTableSpec("emb", 1));
  const auto ignore = [](const RowView&) {};
  EXPECT_EQ(Message(table->ReadCut(0, RowOrder::kStorage, ignore)), "table emb: no cut is active");
  table->EndCut();
  ASSERT_TRUE(table->BeginCut().ok());
  EXPECT_EQ(Message(table->BeginCut()), "table emb: a cut is active");
  ASSERT_TRUE(table->ReadCut(0, RowOrder::kStorage, ignore).ok());
  EXPECT_EQ(Message(table->ReadCut(0, RowOrder::kStorage, ignore)),
            "table emb: shard 0 of the cut was already read");
  table->EndCut();
  ASSERT_TRUE(table->BeginCut().ok());
  EXPECT_TRUE(table->ReadCut(0, RowOrder::kStorage, ignore).ok());
}

// Every push adds 1 to each weight of its ids, under a mutex that the cut takes too: so the sum
// that the cut must show is known exactly. Pushes continue while it is read, create rows and grow
// the table.
TEST(SparseTableCutTest, SumEqualsWhatWasAppliedBeforeWhilePushesGoOn) {
  auto table = MustMakeTable(MakeTableSpec("emb", 2));
  Mutex order;
  double applied = 0;
  std::atomic<bool> stop = false;
  std::atomic<int> errors = 0;
  std::vector<std::thread> pushers;
  for (uint64_t t = 0; t < 3; ++t) {
    pushers.emplace_back([&, t] {
      for (uint64_t round = 0; !stop; ++round) {
        const uint64_t begin = (round * 37 + t * 1000) % 20000;
        const SparseRows rows = MakeRows(Range(begin, begin + 200), 2);
        MutexLock lock(order);
        if (!table->Push(rows, {}).ok()) ++errors;
        applied += 200;
      }
    });
  }
  for (int cut = 0; cut < 5; ++cut) {
    double expected = 0;
    for (double before = 0; before < 20000.0 * (cut + 1);) {
      MutexLock lock(order);
      before = applied;
    }
    {
      MutexLock lock(order);
      ASSERT_TRUE(table->BeginCut().ok());
      expected = applied;
    }
    double sum = 0;
    for (const auto& [id, weight] : ReadAll(table.get())) sum += weight;
    EXPECT_EQ(sum, expected);
    table->EndCut();
  }
  stop = true;
  for (std::thread& thread : pushers) thread.join();
  EXPECT_EQ(errors, 0);
}

// No lock around pushes: each adds 1 to 300 rows at once, which no other thread pushes. A cut
// inside a push would show some of them changed and some not.
TEST(SparseTableCutTest, NoCutFallsInsideAPush) {
  auto table = MustMakeTable(MakeTableSpec("emb", 1));
  std::atomic<bool> stop = false;
  std::vector<std::thread> pushers;
  for (uint64_t t = 0; t < 3; ++t) {
    pushers.emplace_back([&, t] {
      const SparseRows rows = MakeRows(Range(t * 300, t * 300 + 300), 1);
      while (!stop) EXPECT_TRUE(table->Push(rows, {}).ok());
    });
  }
  for (int cut = 0; cut < 20; ++cut) {
    ASSERT_TRUE(table->BeginCut().ok());
    const std::map<uint64_t, float> rows = ReadAll(table.get());
    for (const auto& [id, weight] : rows) {
      const auto first = rows.find(id / 300 * 300);
      ASSERT_NE(first, rows.end());
      ASSERT_EQ(weight, first->second) << id;
    }
    table->EndCut();
  }
  stop = true;
  for (std::thread& thread : pushers) thread.join();
}

}  // namespace
}  // namespace flotilla
