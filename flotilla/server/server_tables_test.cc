#include "flotilla/server/server_tables.h"

#include <gtest/gtest.h>

#include <thread>

#include "flotilla/base/rng.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/tensor/shard_order.h"

namespace flotilla {
namespace {

ModelSpec Example() {
  ModelSpec spec;
  spec.seed = 3;
  for (const int64_t size : {7, 30'000, 16, 9'001}) {
    ParameterSpec& p = spec.parameters.emplace_back();
    p.name = "p" + std::to_string(size);
    p.shape = {size};
    p.attributes.init = Normal(0, 1);
  }
  spec.parameters[2].moving_average_keep = 0.9;
  spec.tables.push_back({.name = "emb", .dim = 2});
  spec.tables.push_back({.name = "small", .dim = 1, .rows = 50});
  spec.optimizer = Adam(0.1);
  return spec;
}

std::unique_ptr<ServerTables> MustMake(const ModelSpec& spec, int server, int servers,
                                       UpdatePolicy policy = UpdatePolicy::kOnArrival) {
  auto tables = ServerTables::Make(spec, server, servers, policy, {});
  EXPECT_TRUE(tables.ok()) << tables.status();
  return *std::move(tables);
}

void SortByShard(SparseRows* rows) {
  const ShardOrder order = OrderByShard(rows->ids);
  const SparseRows from = *rows;
  for (size_t i = 0; i < from.size(); ++i) {
    rows->ids[order.places[i]] = from.ids[i];
    std::copy_n(from.row(i), from.dim, rows->row(order.places[i]));
  }
}

TEST(ServerTablesTest, SlicesOfAllServersTogetherAreTheWholeBlockBeforeAndAfterUpdates) {
  const ModelSpec spec = Example();
  const auto whole = *DenseTable::Make(spec);
  std::vector<float> gradient(whole->data().size());
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = RngKey(1).Normal(i);
  const std::vector<float> first(whole->data().begin(), whole->data().end());
  ASSERT_TRUE(whole->Push(gradient, 0.1, 1).ok());
  ASSERT_TRUE(whole->Push(gradient, 0.1, 2).ok());
  for (const int servers : {1, 2, 3, 5, 9}) {
    int64_t at = 0;
    for (int s = 0; s < servers; ++s) {
      const auto tables = MustMake(spec, s, servers);
      const DenseRange range = tables->range();
      EXPECT_EQ(range.begin, at);
      at = range.end;
      EXPECT_TRUE(
          std::equal(tables->dense().begin(), tables->dense().end(), first.begin() + range.begin));
      const auto part = std::span<const float>(gradient).subspan(range.begin, range.size());
      for (const int64_t step : {1, 2}) {
        ASSERT_TRUE(tables->PushDense(part, {.step = step, .rate = 0.1}).ok());
      }
      EXPECT_TRUE(std::equal(tables->dense().begin(), tables->dense().end(),
                             whole->data().begin() + range.begin))
          << servers;
    }
    EXPECT_EQ(at, static_cast<int64_t>(first.size()));
  }
}

TEST(ServerTablesTest, ShardsOfAllServersAreAllShardsAndOwnTheirIds) {
  for (const int servers : {1, 2, 3, 5, 512}) {
    int next = 0;
    for (int s = 0; s < servers; ++s) {
      const auto tables = MustMake({.optimizer = Sgd(1)}, s, servers);
      EXPECT_EQ(tables->shards().first, next);
      next = tables->shards().end();
      for (int shard = tables->shards().first; shard < next; ++shard) {
        EXPECT_EQ(ServerOfShard(shard, servers), s);
      }
    }
    EXPECT_EQ(next, kVirtualShards);
  }
}

TEST(ServerTablesTest, IdsOfOtherServersOrOutOfBoundsAreRefused) {
  const auto tables = MustMake(Example(), 0, 2);
  std::vector<uint64_t> mine, theirs;
  for (uint64_t id = 0; id < 50; ++id) {
    (ServerOfShard(VirtualShard(id), 2) == 0 ? mine : theirs).push_back(id);
  }
  EXPECT_TRUE(tables->CheckIds(0, mine).ok());
  EXPECT_TRUE(tables->CheckIds(1, mine).ok());
  EXPECT_NE(tables->CheckIds(0, theirs).ToString().find("belongs to server 1 of 2"),
            std::string::npos);
  EXPECT_FALSE(tables->CheckIds(1, std::vector<uint64_t>{50}).ok());
  EXPECT_FALSE(tables->CheckIds(2, {}).ok());
}

TEST(ServerTablesTest, TheSliceKnowsWhichPartsAreStatistics) {
  const auto whole = MustMake(Example(), 0, 1);
  const auto ranges = whole->StatisticRanges();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].second - ranges[0].first, 16);
  EXPECT_EQ(whole->slices()[2].parameter, 2);
}

TEST(ServerTablesTest, PushesOfTheSameRowsExcludeEachOther) {
  ModelSpec spec;
  spec.tables.push_back({.name = "emb", .dim = 2});
  spec.tables[0].attributes.learning_rate_factor = -1;
  spec.optimizer = Sgd(1);
  const auto tables = MustMake(spec, 0, 1);
  SparseRows rows;
  rows.dim = 2;
  for (uint64_t id = 0; id < 200; ++id) rows.ids.push_back(id);
  rows.values.assign(400, 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    // Half of them lock the whole table, the others one stripe after another.
    if (t == 2) SortByShard(&rows);
    threads.emplace_back([&, t, own = rows] {
      std::vector<uint32_t> locations;
      for (int i = 0; i < 100; ++i) {
        const Status status = t % 2 == 0 ? tables->Push(0, own, {.step = 1, .rate = 1})
                                         : tables->AddRows(0, own, &locations);
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(tables->Pull(0, Missing::kDefault, &rows).ok());
  EXPECT_EQ(rows.values, AlignedVector<float>(400, 400));
}

TEST(ServerTablesTest, TheOrderOfRowsDoesNotMatterForAnyNumberOfServers) {
  for (const int servers : {1, 3, 100, 512}) {
    SparseRows rows{.dim = 2, .ids = {}, .values = {}, .locations = {}};
    for (uint64_t id = 0; id < 3000; ++id) {
      if (ServerOfShard(VirtualShard(id), servers) != servers / 2) continue;
      rows.ids.push_back(id);
      for (uint64_t d = 0; d < 2; ++d) rows.values.push_back(RngKey(1).With(id).Normal(d));
    }
    SparseRows any;
    any.ids = rows.ids;
    SparseRows by_shard = any;
    const auto first = MustMake(Example(), servers / 2, servers);
    const auto second = MustMake(Example(), servers / 2, servers);
    SparseRows sorted = rows;
    SortByShard(&sorted);
    ASSERT_GT(rows.size(), 1u);
    EXPECT_TRUE(servers == 512 || sorted.ids != rows.ids);
    std::vector<uint32_t> locations;
    for (const int64_t step : {1, 2}) {
      ASSERT_TRUE(first->Push(0, rows, {.step = step, .rate = 0.1}).ok());
      ASSERT_TRUE(first->AddRows(0, rows, &locations).ok());
      ASSERT_TRUE(second->Push(0, sorted, {.step = step, .rate = 0.1}).ok());
      ASSERT_TRUE(second->AddRows(0, sorted, &locations).ok());
    }
    ASSERT_TRUE(first->Pull(0, Missing::kDefault, &any).ok());
    ASSERT_TRUE(second->Pull(0, Missing::kDefault, &by_shard).ok());
    EXPECT_EQ(any.values, by_shard.values);
  }
}

TEST(ServerTablesTest, DeltasAreAddedAndKeepNoState) {
  const auto tables = MustMake(Example(), 0, 1, UpdatePolicy::kAddDelta);
  EXPECT_EQ(tables->table(0).layout().states, 0);
  std::vector<float> before(tables->dense().begin(), tables->dense().end());
  const std::vector<float> delta(before.size(), 0.5f);
  tables->AddDense(delta);
  std::vector<float> part(3);
  tables->CopyDense(20, part);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(part[i], before[20 + i] + 0.5f);
}

TEST(ServerTablesTest, AddedRowsAreToldWhereTheyStand) {
  ModelSpec spec;
  spec.tables.push_back({.name = "emb", .dim = 3});
  spec.optimizer = Sgd(1);
  const auto tables = MustMake(spec, 0, 1, UpdatePolicy::kAddDelta);
  SparseRows delta;
  delta.dim = 3;
  for (uint64_t id = 0; id < 100; ++id) {
    delta.ids.push_back(id * id);
    delta.values.insert(delta.values.end(), 3, static_cast<float>(id));
  }
  SparseRows rows;
  rows.ids = delta.ids;
  ASSERT_TRUE(tables->Pull(0, Missing::kDefault, &rows).ok());
  AlignedVector<float> expected = rows.values;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += delta.values[i];
  std::vector<uint32_t> locations;
  ASSERT_TRUE(tables->AddRows(0, delta, &locations).ok());
  ASSERT_TRUE(tables->Pull(0, Missing::kDefault, &rows).ok());
  EXPECT_EQ(rows.values, expected);
  EXPECT_EQ(rows.locations, locations);
}

TEST(ServerTablesTest, DenseValuesAreWrittenWithinOneParameter) {
  const auto tables = MustMake(Example(), 0, 1);
  EXPECT_TRUE(tables->WriteDense(2, std::vector<float>{1, 2}).ok());
  EXPECT_EQ(tables->dense()[3], 2);
  EXPECT_FALSE(tables->WriteDense(5, std::vector<float>{1, 2, 3}).ok());
  EXPECT_FALSE(tables->WriteDense(1 << 30, std::vector<float>{1}).ok());
  EXPECT_FALSE(ServerTables::Make(Example(), 2, 2, UpdatePolicy::kOnArrival, {}).ok());
}

}  // namespace
}  // namespace flotilla
