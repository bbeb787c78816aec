// Add delta, and the sets of rows that a trainer has not seen.
#include <algorithm>
#include <set>

#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using GeoTest = ClusterTest;
FL_ON_MOST_WIRES(GeoTest);

Status PushDelta(PsClient& client, std::vector<uint64_t> ids, float value) {
  const std::vector<SparseRows> rows = {RowsOf(std::move(ids), 2, value)};
  return client.Push({.kind = PushKind::kDelta, .sparse = rows});
}

DirtyValues MustPullDirty(PsClient& client, uint64_t max_rows = 1000) {
  DirtyValues dirty;
  const Status status = client.PullDirty(max_rows, &dirty);
  EXPECT_TRUE(status.ok()) << status;
  return dirty;
}

std::set<uint64_t> Ids(const DirtyValues& dirty) {
  return {dirty.sparse[0].ids.begin(), dirty.sparse[0].ids.end()};
}

TEST_P(GeoTest, ATrainerGetsWhatOthersChangedOnce) {
  InProcessCluster cluster(
      CountingModel({}, {2}),
      {.servers = 3, .trainers = 3, .wire = GetParam(), .policy = UpdatePolicy::kAddDelta});
  ASSERT_OK(cluster.ConnectAll());
  ASSERT_OK(PushDelta(cluster.client(0), {1, 2, 3}, 1));
  ASSERT_OK(PushDelta(cluster.client(1), {3, 4}, 10));
  const DirtyValues zero = MustPullDirty(cluster.client(0));
  EXPECT_EQ(Ids(zero), (std::set<uint64_t>{3, 4}));
  EXPECT_FALSE(zero.more);
  for (size_t i = 0; i < zero.sparse[0].size(); ++i) {
    EXPECT_EQ(zero.sparse[0].row(i)[1], zero.sparse[0].ids[i] == 3 ? 11 : 10);
  }
  EXPECT_EQ(Ids(MustPullDirty(cluster.client(1))), (std::set<uint64_t>{1, 2, 3}));
  EXPECT_EQ(Ids(MustPullDirty(cluster.client(2))), (std::set<uint64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(Ids(MustPullDirty(cluster.client(0))).empty());
  ASSERT_OK(PushDelta(cluster.client(1), {4}, 1));
  EXPECT_EQ(Ids(MustPullDirty(cluster.client(0))), (std::set<uint64_t>{4}));
}

TEST_P(GeoTest, AnAnswerThatGetsLostLosesNothing) {
  ClusterOptions options{
      .servers = 2, .trainers = 2, .wire = GetParam(), .policy = UpdatePolicy::kAddDelta};
  options.faults =
      FaultOptions{.seed = 11, .lose_reply = 0.3, .lose_request = 0.1, .send_twice = 0.2};
  options.client.retry = {.retry_times = 50, .first_backoff_ms = 1, .max_backoff_ms = 2};
  InProcessCluster cluster(CountingModel({20'000}, {2}), options);
  ASSERT_OK(cluster.ConnectAll());
  // The copy of trainer 1, refreshed only by dirty rows.
  std::vector<float> copy(static_cast<size_t>(cluster.client(1).layout().size()));
  std::map<uint64_t, float> known;
  DirtyValues dirty;  // one for all rounds
  for (int round = 0; round < 30; ++round) {
    const auto first = static_cast<uint64_t>(round % 7);
    std::vector<float> delta(copy.size());
    delta[static_cast<size_t>(round) * 600] = 1;
    const std::vector<SparseRows> rows = {RowsOf(IdRange(first * 5, 12), 2, 1)};
    ASSERT_OK(cluster.client(0).Push({.kind = PushKind::kDelta, .dense = delta, .sparse = rows}));
    ASSERT_OK(cluster.client(1).PullDirty(1000, &dirty));
    for (size_t i = 0; i < dirty.sparse[0].size(); ++i) {
      known[dirty.sparse[0].ids[i]] = dirty.sparse[0].row(i)[0];
    }
    for (const DirtyDense& part : dirty.dense) {
      const float* from = part.values.data();
      for (const DenseRange& range : part.ranges) {
        std::copy_n(from, range.size(), copy.begin() + range.begin);
        from += range.size();
      }
    }
  }
  EXPECT_GT(cluster.lost_replies(), 10);
  const auto truth = cluster.client(1).ReadTable(0);
  ASSERT_TRUE(truth.ok());
  ASSERT_EQ(truth->size(), known.size());
  for (size_t i = 0; i < truth->size(); ++i) {
    EXPECT_EQ(known[truth->ids[i]], truth->row(i)[0]) << truth->ids[i];
  }
  std::vector<float> dense(copy.size());
  ASSERT_OK(cluster.client(1).PullDense(dense));
  EXPECT_EQ(copy, dense);
  EXPECT_EQ(dense[0], 1);
}

TEST(GeoLimitTest, MoreRowsThanAskedForComeWithTheNextCall) {
  InProcessCluster cluster(CountingModel({}, {2}),
                           {.trainers = 2, .policy = UpdatePolicy::kAddDelta});
  ASSERT_OK(cluster.ConnectAll());
  ASSERT_OK(PushDelta(cluster.client(0), IdRange(0, 25), 1));
  std::set<uint64_t> seen;
  int calls = 0;
  for (bool more = true; more; ++calls) {
    const DirtyValues dirty = MustPullDirty(cluster.client(1), 10);
    EXPECT_LE(dirty.sparse[0].size(), 10u);
    seen.merge(Ids(dirty));
    more = dirty.more;
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(seen.size(), 25u);
}

TEST(GeoLimitTest, OnlyDenseBlocksThatOthersChangedAreSent) {
  InProcessCluster cluster(CountingModel({50'000}, {}),
                           {.servers = 2, .trainers = 2, .policy = UpdatePolicy::kAddDelta});
  ASSERT_OK(cluster.ConnectAll());
  std::vector<float> delta(static_cast<size_t>(cluster.client(0).layout().size()));
  delta[10] = 1;
  delta[delta.size() - 30] = 2;
  ASSERT_OK(cluster.client(0).Push({.kind = PushKind::kDelta, .dense = delta}));
  const std::vector<DirtyDense> dirty = MustPullDirty(cluster.client(1)).dense;
  ASSERT_EQ(dirty.size(), 2u);
  ASSERT_EQ(dirty[0].ranges.size(), 1u);
  ASSERT_EQ(dirty[1].ranges.size(), 1u);
  EXPECT_EQ(dirty[0].ranges[0], (DenseRange{0, kDenseBlockFloats}));
  EXPECT_EQ(dirty[1].ranges[0].end, static_cast<int64_t>(delta.size()));
  EXPECT_EQ(dirty[0].values[10], 1);
  EXPECT_EQ(dirty[1].values[dirty[1].values.size() - 30], 2);
  for (const DirtyDense& none : MustPullDirty(cluster.client(0)).dense) {
    EXPECT_TRUE(none.ranges.empty());
  }
}

}  // namespace
}  // namespace flotilla
