// SparseTable used by several threads: creation is exact, growth causes no errors, no thread
// starves.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/table/table_testing.h"

namespace flotilla {
namespace {

constexpr int kThreads = 4;

void RunThreads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// All threads pull the same new ids, each in a different order, while the index grows from empty.
TEST(SparseTableThreadsTest, EveryThreadSeesTheCompleteFirstValueAndRowsAreMadeOnce) {
  for (const TableKind& kind : TableKinds(40000)) {
    auto table =
        MustMakeTable(MakeTableSpec("emb", 7, kind.rows, Uniform(-1, 1)), 1, 1, kind.options);
    constexpr uint64_t kIds = 40000;
    std::vector<std::vector<uint32_t>> locations(kThreads, std::vector<uint32_t>(kIds));
    std::atomic<int> wrong = 0;
    RunThreads([&](int t) {
      SparseRows rows;
      std::vector<float> first(7);
      const auto initializer = *Initializer::Make(Uniform(-1, 1), {});
      for (uint64_t begin = 0; begin < kIds; begin += 500) {
        rows.ids.resize(500);
        for (uint64_t i = 0; i < 500; ++i) rows.ids[i] = begin + (i * 7 + 100 * t) % 500;
        if (!table->Pull(Missing::kCreate, &rows).ok()) ++wrong;
        for (size_t i = 0; i < 500; ++i) {
          initializer.Fill(ParameterKey(1, "emb").With(rows.ids[i]), 7, first.data());
          if (!std::equal(first.begin(), first.end(), rows.row(i))) ++wrong;
          locations[t][rows.ids[i]] = rows.locations[i];
        }
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(table->size(), static_cast<int64_t>(kIds));
    for (int t = 1; t < kThreads; ++t) EXPECT_EQ(locations[t], locations[0]);
  }
}

// Each thread owns its ids, so sums are exact although all of them grow the table together.
TEST(SparseTableThreadsTest, PushesSurviveTheGrowthThatOthersCause) {
  auto table = MustMakeTable(MakeTableSpec("emb", 3), 1);
  constexpr int kRounds = 60;
  std::atomic<int> errors = 0;
  RunThreads([&](int t) {
    for (int round = 1; round <= kRounds; ++round) {
      std::vector<uint64_t> ids;
      for (int i = 0; i < round * 20; ++i) ids.push_back(static_cast<uint64_t>(i) * kThreads + t);
      SparseRows rows = MakeRows(ids, 3);
      if (round % 2 == 0) {
        SparseRows pulled;
        pulled.ids = ids;
        if (!table->Pull(Missing::kCreate, &pulled).ok()) ++errors;
        rows.locations = pulled.locations;
      }
      if (!table->Push(rows, {}).ok()) ++errors;
    }
  });
  EXPECT_EQ(errors, 0);
  ASSERT_EQ(table->size(), kThreads * kRounds * 20);
  for (uint64_t id = 0; id < static_cast<uint64_t>(table->size()); ++id) {
    const int first_round = static_cast<int>(id / kThreads / 20) + 1;
    ASSERT_EQ(table->Find(id)[2], static_cast<float>(kRounds - first_round + 1)) << id;
    ASSERT_EQ(table->Find(id)[3], static_cast<float>(7 + kRounds - first_round + 1));
  }
}

// Rows that all threads push: values may mix (Hogwild), but the table stays consistent.
TEST(SparseTableThreadsTest, PushesOfSharedRowsLeaveTheTableSound) {
  auto table = MustMakeTable(MakeTableSpec("emb", 4));
  constexpr int kRounds = 200;
  std::vector<uint64_t> ids(100);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i * 31;
  std::atomic<int> errors = 0;
  RunThreads([&](int) {
    SparseRows pulled;
    for (int round = 0; round < kRounds; ++round) {
      pulled.ids = ids;
      if (!table->Pull(Missing::kCreate, &pulled).ok()) ++errors;
      std::fill(pulled.values.begin(), pulled.values.end(), 1.0f);
      if (!table->Push(pulled, {}).ok()) ++errors;
    }
  });
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(table->size(), 100);
  for (uint64_t id : ids) {
    EXPECT_GE(table->Find(id)[0], kRounds / 2);
    EXPECT_LE(table->Find(id)[0], kThreads * kRounds);
  }
}

}  // namespace
}  // namespace flotilla
