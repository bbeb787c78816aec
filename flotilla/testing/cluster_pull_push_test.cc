// Pulls and pushes through servers, on every wire.
#include <cmath>
#include <numeric>

#include "flotilla/table/dense_table.h"
#include "flotilla/table/initializer.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

using PullPushTest = ClusterTest;
FL_ON_EVERY_WIRE(PullPushTest);

ModelSpec RandomModel(std::vector<int64_t> dense, int64_t dim) {
  ModelSpec spec = CountingModel(std::move(dense), {dim});
  spec.seed = 7;
  for (ParameterSpec& p : spec.parameters) p.attributes.init = Normal(0, 1);
  spec.tables[0].attributes.init = Uniform(-1, 1);
  return spec;
}

TEST_P(PullPushTest, FirstValuesAreThoseOfTheModelForAnyNumberOfServers) {
  const ModelSpec spec = RandomModel({5, 20'000, 33}, 3);
  const auto whole = *DenseTable::Make(spec);
  const auto table = *SparseTable::Make(spec.tables[0], spec.seed, nullptr, {});
  SparseRows expected = RowsOf(IdRange(1000, 300), 3);
  ASSERT_OK(table->Pull(Missing::kDefault, &expected));
  for (const int servers : {1, 2, 5}) {
    InProcessCluster cluster(spec, {.servers = servers, .wire = GetParam()});
    ASSERT_OK(cluster.ConnectAll());
    std::vector<float> dense(whole->data().size());
    ASSERT_OK(cluster.client(0).PullDense(dense));
    EXPECT_TRUE(std::equal(dense.begin(), dense.end(), whole->data().begin())) << servers;
    std::vector<SparseRows> rows(1);
    rows[0].ids = IdRange(1000, 300);
    ASSERT_OK(cluster.client(0).Pull(Missing::kCreate, rows));
    EXPECT_EQ(rows[0].values, expected.values) << servers;
    ASSERT_OK(cluster.StopAll());
  }
}

TEST_P(PullPushTest, APushChangesExactlyItsRowsAndTheDenseBlock) {
  InProcessCluster cluster(CountingModel({10'000, 9'000}, {4, 1}),
                           {.servers = 3, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  std::vector<float> gradient(static_cast<size_t>(client.layout().size()));
  std::iota(gradient.begin(), gradient.end(), 0.0f);
  std::vector<SparseRows> rows = {RowsOf(IdRange(0, 100), 4, 2), RowsOf(IdRange(50, 7), 1, 5)};
  rows[0].row(42)[3] = 9;
  std::vector<float> fresh(gradient.size(), -1);
  ASSERT_OK(client.Push({.dense = gradient, .sparse = rows, .batches = 3, .fresh_dense = fresh}));
  EXPECT_EQ(client.global_step(), 3);
  EXPECT_EQ(fresh[17], 17);
  EXPECT_EQ(fresh[10'000 + 77], static_cast<float>(10'000 + 77));
  std::vector<SparseRows> pulled(2);
  pulled[0].ids = {41, 42, 100};
  pulled[1].ids = {56, 57};
  ASSERT_OK(client.Pull(Missing::kDefault, pulled));
  EXPECT_EQ(pulled[0].values, (AlignedVector<float>{2, 2, 2, 2, 2, 2, 2, 9, 0, 0, 0, 0}));
  EXPECT_EQ(pulled[1].values, (AlignedVector<float>{5, 0}));
}

TEST_P(PullPushTest, MoreServersThanBlocksWork) {
  InProcessCluster cluster(CountingModel({10}, {1}), {.servers = 7, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  std::vector<float> gradient(static_cast<size_t>(cluster.client(0).layout().size()), 1);
  std::vector<float> fresh(gradient.size());
  const std::vector<SparseRows> rows = {RowsOf(IdRange(0, 50), 1)};
  ASSERT_OK(cluster.client(0).Push({.dense = gradient, .sparse = rows, .fresh_dense = fresh}));
  EXPECT_EQ(fresh[9], 1);
  ASSERT_OK(cluster.StopAll());
}

TEST_P(PullPushTest, ValuesThatSpanManyChunksArrive) {
  ClusterOptions options{.servers = 2, .wire = GetParam()};
  options.grpc.chunk_bytes = 4096;
  InProcessCluster cluster(CountingModel({200'000}, {16}), options);
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  // With an owner: sent without copying.
  auto gradient = std::make_shared<std::vector<float>>(200'000);
  std::iota(gradient->begin(), gradient->end(), 1.0f);
  std::vector<SparseRows> rows = {RowsOf(IdRange(0, 5000), 16)};
  std::iota(rows[0].values.begin(), rows[0].values.end(), 1.0f);
  ASSERT_OK(client.Push({.dense = *gradient, .sparse = rows, .owner = gradient}));
  std::vector<float> dense(200'000);
  ASSERT_OK(client.PullDense(dense));
  EXPECT_EQ(dense, *gradient);
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = rows[0].ids;
  ASSERT_OK(client.Pull(Missing::kDefault, pulled));
  EXPECT_EQ(pulled[0].values, rows[0].values);
}

TEST_P(PullPushTest, PullsAndPushesOfOneClientMayBeUnderWayTogether) {
  InProcessCluster cluster(CountingModel({100}, {2}), {.servers = 2, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  const std::vector<SparseRows> rows = {RowsOf(IdRange(0, 20), 2)};
  std::vector<std::unique_ptr<PendingCalls>> pushes;
  for (int i = 0; i < 50; ++i) pushes.push_back(client.StartPush({.sparse = rows}));
  for (const auto& push : pushes) ASSERT_OK(push->Wait());
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = IdRange(0, 20);
  const auto pull = client.StartPull(Missing::kDefault, pulled);
  ASSERT_OK(pull->Wait());
  EXPECT_EQ(pulled[0].values, AlignedVector<float>(40, 50));
  EXPECT_EQ(client.global_step(), 50);
}

TEST_P(PullPushTest, APullBehindAPushSeesIt) {
  InProcessCluster cluster(CountingModel({100}, {2}), {.servers = 3, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  const std::vector<float> dense(static_cast<size_t>(client.layout().size()), 1);
  for (int round = 1; round <= 20; ++round) {
    const std::vector<SparseRows> gradients = {RowsOf(IdRange(0, 500), 2, 1)};
    PushSequences sequences;
    const auto push = client.StartPush({.dense = dense, .sparse = gradients}, &sequences);
    std::vector<SparseRows> rows(1);
    rows[0].ids = IdRange(100, 300);
    ASSERT_OK(client.StartPull(Missing::kCreate, rows, sequences)->Wait());
    ASSERT_OK(push->Wait());
    EXPECT_EQ(rows[0].values, RowsOf(IdRange(100, 300), 2, static_cast<float>(round)).values);
  }
  ASSERT_OK(cluster.StopAll());
}

TEST_P(PullPushTest, HalfDenseRoundsOnTheWayAndNotOnTheServers) {
  ClusterOptions options{.servers = 2, .wire = GetParam()};
  options.client.half_dense = true;
  InProcessCluster cluster(CountingModel({9'000}, {1}), options);
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  // 257 needs nine bits: it becomes 256 on the way there, and the sum of two, 512, can come back.
  const std::vector<float> gradient(static_cast<size_t>(client.layout().size()), 257);
  const std::vector<float> small(gradient.size(), 1);
  const std::vector<SparseRows> none = {RowsOf({}, 1)};
  std::vector<float> fresh(gradient.size());
  for (int push = 0; push < 2; ++push) {
    ASSERT_OK(client.Push({.dense = gradient, .sparse = none, .fresh_dense = fresh}));
  }
  EXPECT_EQ(fresh[8'000], 512);
  ASSERT_OK(client.Push({.dense = small, .sparse = none, .fresh_dense = fresh}));
  EXPECT_EQ(fresh[8'000], 512) << "513 rounded";
  ASSERT_OK(client.PullDense(fresh));
  EXPECT_EQ(fresh[8'000], 513);
  ASSERT_OK(cluster.StopAll());
}

TEST_P(PullPushTest, NoUpdateOfManyTrainersIsLost) {
  InProcessCluster cluster(CountingModel({9000}, {3}),
                           {.servers = 2, .trainers = 4, .wire = GetParam()});
  constexpr int kPushes = 40;
  ASSERT_OK(cluster.RunTrainers([](int, PsClient& client) {
    const std::vector<float> gradient(static_cast<size_t>(client.layout().size()), 1);
    const std::vector<SparseRows> rows = {RowsOf(IdRange(0, 200), 3)};
    for (int i = 0; i < kPushes; ++i) {
      FL_RETURN_IF_ERROR(client.Push({.dense = gradient, .sparse = rows}));
    }
    return absl::OkStatus();
  }));
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = IdRange(0, 200);
  ASSERT_OK(cluster.client(0).Pull(Missing::kDefault, pulled));
  EXPECT_EQ(pulled[0].values, AlignedVector<float>(600, 4 * kPushes));
  std::vector<float> dense(9008);
  ASSERT_OK(cluster.client(3).PullDense(dense));
  EXPECT_EQ(dense[8999], 4 * kPushes);
  ASSERT_OK(cluster.StopAll());
}

TEST_P(PullPushTest, TheRateFollowsTheServersCountOfBatches) {
  ModelSpec spec = CountingModel({1}, {1});
  // 1 for the first 10 batches of all trainers, then 100.
  spec.optimizer = Sgd(PiecewiseDecay({10}, {1, 100}));
  InProcessCluster cluster(spec, {.servers = 2, .trainers = 2, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  const std::vector<SparseRows> one = {RowsOf({1}, 1)};
  ASSERT_OK(cluster.client(0).Push({.sparse = one, .batches = 4}));
  ASSERT_OK(cluster.client(1).Push({.sparse = one, .batches = 6}));
  ASSERT_OK(cluster.client(0).Push({.sparse = one, .batches = 1}));
  std::vector<SparseRows> pulled(1);
  pulled[0].ids = {1};
  ASSERT_OK(cluster.client(1).Pull(Missing::kDefault, pulled));
  EXPECT_EQ(pulled[0].values[0], 1 + 1 + 100);
  EXPECT_EQ(cluster.server(0).service().global_step(), 11);
  EXPECT_EQ(cluster.server(1).service().global_step(), 11);
}

TEST_P(PullPushTest, TablesAndParametersAreReadAndWrittenWhole) {
  InProcessCluster cluster(CountingModel({30'000, 5}, {2}), {.servers = 3, .wire = GetParam()});
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  SparseRows rows = RowsOf(IdRange(10, 1000), 2);
  std::iota(rows.values.begin(), rows.values.end(), 0.0f);
  ASSERT_OK(client.WriteRows(0, rows));
  const auto read = client.ReadTable(0);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->ids, rows.ids);
  EXPECT_EQ(read->values, rows.values);
  std::vector<float> values(30'000);
  std::iota(values.begin(), values.end(), 5.0f);
  ASSERT_OK(client.WriteDense(0, values));
  ASSERT_OK(client.WriteDense(1, std::vector<float>(5, 3)));
  std::vector<float> dense(static_cast<size_t>(client.layout().size()));
  ASSERT_OK(client.PullDense(dense));
  EXPECT_TRUE(std::equal(values.begin(), values.end(), dense.begin()));
  EXPECT_EQ(dense[static_cast<size_t>(client.layout().offset(1)) + 4], 3);
  EXPECT_EQ(client.WriteDense(1, values).code(), absl::StatusCode::kInvalidArgument);
}

TEST(PullPushErrorsTest, AnErrorOfTheTableNamesServerTableAndId) {
  ModelSpec spec = CountingModel({}, {1});
  spec.tables[0].rows = 100;
  InProcessCluster cluster(spec, {.servers = 2});
  ASSERT_OK(cluster.ConnectAll());
  const std::vector<SparseRows> rows = {RowsOf({5, 100}, 1)};
  const Status status = cluster.client(0).Push({.sparse = rows});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("push: server "), std::string::npos) << status;
  EXPECT_NE(status.ToString().find("table emb0: id 100 is not below its 100 rows"),
            std::string::npos)
      << status;
}

TEST(PullPushErrorsTest, APushOfAnotherKindThanTheServersPolicyIsRefused) {
  InProcessCluster cluster(CountingModel({}, {1}), {.policy = UpdatePolicy::kOnBarrier});
  ASSERT_OK(cluster.ConnectAll());
  const std::vector<SparseRows> rows = {RowsOf({5}, 1)};
  const Status status = cluster.client(0).Push({.kind = PushKind::kDelta, .sparse = rows});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("a push add_delta, the server's policy is on_barrier"),
            std::string::npos)
      << status;
}

}  // namespace
}  // namespace flotilla
