// Saving by several servers, loading on any number of them.
#include <filesystem>
#include <thread>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/optim/adam.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

ModelSpec AdamModel() {
  ModelSpec spec = CountingModel({20'000, 50}, {3, 1});
  spec.seed = 5;
  for (ParameterSpec& p : spec.parameters) p.attributes.init = Normal(0, 1);
  for (TableSpec& t : spec.tables) t.attributes.init = Uniform(-1, 1);
  spec.optimizer = Adam(0.01);
  return spec;
}

Status TrainSome(PsClient& client, int steps) {
  std::vector<float> dense(static_cast<size_t>(client.layout().size()));
  std::vector<SparseRows> rows = {RowsOf(IdRange(0, 500), 3), RowsOf(IdRange(90, 60), 1)};
  for (int step = 0; step < steps; ++step) {
    const RngKey key = RngKey(static_cast<uint64_t>(client.global_step()));
    for (size_t i = 0; i < dense.size(); ++i) dense[i] = key.Normal(i);
    for (SparseRows& table : rows) {
      for (size_t i = 0; i < table.values.size(); ++i) table.values[i] = key.Normal(i + 7);
    }
    FL_RETURN_IF_ERROR(client.Push({.dense = dense, .sparse = rows}));
  }
  return absl::OkStatus();
}

struct SavedState {
  std::vector<float> dense;
  SparseRows first, second;
};

SavedState Read(PsClient& client) {
  SavedState state;
  state.dense.resize(static_cast<size_t>(client.layout().size()));
  EXPECT_TRUE(client.PullDense(state.dense).ok());
  state.first = *client.ReadTable(0);
  state.second = *client.ReadTable(1);
  return state;
}

void ExpectSame(const SavedState& a, const SavedState& b) {
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.first.ids, b.first.ids);
  EXPECT_EQ(a.first.values, b.first.values);
  EXPECT_EQ(a.second.ids, b.second.ids);
  EXPECT_EQ(a.second.values, b.second.values);
}

// A server fails to write at once while another one has much to write.
TEST(FailedSaveTest, DoesNotKeepTheNextOneFromBeginning) {
  InProcessCluster cluster(CountingModel({}, {8}), {.servers = 2});
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  std::vector<uint64_t> ids;  // nearly all at server 0
  for (uint64_t id = 0; ids.size() < 100'000; ++id) {
    if (ServerOfShard(VirtualShard(id), 2) == 0 || ids.size() < 5) ids.push_back(id);
  }
  ASSERT_OK(client.WriteRows(0, RowsOf(ids, 8)));
  const TempDir temp;
  const std::vector<int> tables = {0};
  for (int save = 0; save < 5; ++save) {
    const std::string dir = fmt::format("{}/{}", temp.path(), save);
    std::filesystem::create_directory(dir);
    temp.Write(fmt::format("{}/table-0-emb0.server-1.safetensors", save), "in the way");
    ASSERT_OK(client.BeginSave(tables, true).status());
    EXPECT_FALSE(client.WriteSave(dir).ok());
    ASSERT_OK(client.EndSave());
    // No server writes any more: removed files do not reappear.
    std::filesystem::remove_all(dir);
    EXPECT_FALSE(std::filesystem::exists(dir));
  }
  ASSERT_OK(client.BeginSave(tables, true).status());
  const std::string dir = temp.path() + "/good";
  std::filesystem::create_directory(dir);
  ASSERT_OK(client.WriteSave(dir).status());
  ASSERT_OK(client.EndSave());
  EXPECT_FALSE(client.WriteSave(dir).ok()) << "it has ended";
}

// The same calls as in the communicators of the modes.
Status Save(PsClient& client, const std::string& dir, const std::function<Status()>& meanwhile) {
  FL_ASSIGN_OR_RETURN(const SavedDense dense, client.BeginSave(std::vector<int>{0, 1}, true));
  FL_RETURN_IF_ERROR(meanwhile());
  FL_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Begin(dir, {.sync = false}));
  FL_ASSIGN_OR_RETURN(const auto texts, client.WriteSave(writer->temporary()));
  std::vector<CheckpointPart> parts;
  for (const std::string& text : texts) {
    FL_ASSIGN_OR_RETURN(CheckpointPart part, CheckpointPart::FromText(text));
    parts.push_back(std::move(part));
  }
  std::vector<ParameterValues> values;
  for (int p = 0; p < client.layout().parameters(); ++p) {
    const int64_t length = client.layout().length(p);
    values.push_back(
        {.name = client.spec().parameters[p].name,
         .shape = client.spec().parameters[p].shape,
         .weights = std::span(dense.weights).subspan(client.layout().offset(p), length),
         .state = dense.states[p],
         .states = static_cast<int>(static_cast<int64_t>(dense.states[p].size()) / length)});
  }
  PartWriter part(writer->temporary(), "dense", {.sync = false});
  FL_RETURN_IF_ERROR(part.WriteParameters(values));
  parts.push_back(part.part());
  FL_RETURN_IF_ERROR(client.EndSave());
  return writer->Commit({.step = dense.step,
                         .seed = client.spec().seed,
                         .optimizer_state = true,
                         .optimizer = client.spec().optimizer,
                         .sections = {}},
                        parts);
}

TEST(ClusterCheckpointTest, WhatThreeServersSavedGoesOnOnTwoAsIfNothingHadHappened) {
  const TempDir temp;
  const std::string dir = temp.path() + "/model";
  SavedState at_save, later;
  {
    InProcessCluster cluster(AdamModel(), {.servers = 3, .wire = Wire::kTcp});
    ASSERT_OK(cluster.ConnectAll());
    ASSERT_OK(TrainSome(cluster.client(0), 4));
    at_save = Read(cluster.client(0));
    // Training continues between the snapshot and its writing.
    ASSERT_OK(Save(cluster.client(0), dir, [&] { return TrainSome(cluster.client(0), 3); }));
    later = Read(cluster.client(0));
  }
  InProcessCluster cluster(AdamModel(), {.servers = 2});
  ASSERT_OK(cluster.ConnectAll());
  ASSERT_OK(cluster.client(0).Load(dir, {.tables = {0, 1}, .parameters = {0, 1}}));
  EXPECT_EQ(cluster.client(0).global_step(), 4);
  ExpectSame(Read(cluster.client(0)), at_save);
  ASSERT_OK(TrainSome(cluster.client(0), 3));
  ExpectSame(Read(cluster.client(0)), later);
}

TEST(ClusterCheckpointTest, AServerLoadsAtItsStart) {
  const TempDir temp;
  const std::string dir = temp.path() + "/model";
  SavedState at_save;
  {
    InProcessCluster cluster(AdamModel(), {.servers = 1});
    ASSERT_OK(cluster.ConnectAll());
    ASSERT_OK(TrainSome(cluster.client(0), 2));
    at_save = Read(cluster.client(0));
    ASSERT_OK(Save(cluster.client(0), dir, [] { return absl::OkStatus(); }));
  }
  InProcessCluster cluster(AdamModel(), {.servers = 5});
  for (int s = 0; s < 5; ++s) {
    ASSERT_OK(cluster.server(s).service().LoadModel(dir, {.tables = {0, 1}, .parameters = {0, 1}}));
  }
  ASSERT_OK(cluster.ConnectAll());
  EXPECT_EQ(cluster.client(0).global_step(), 2);
  ExpectSame(Read(cluster.client(0)), at_save);
}

TEST(ClusterCheckpointTest, SavesAndLoadsThatCannotBeAreRefused) {
  const TempDir temp;
  InProcessCluster cluster(AdamModel(), {.servers = 2});
  ASSERT_OK(cluster.ConnectAll());
  PsClient& client = cluster.client(0);
  EXPECT_EQ(client.WriteSave(temp.path()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client.BeginSave(std::vector<int>{7}, true).status().code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(client.BeginSave(std::vector<int>{0}, true).ok());
  const auto written = client.WriteSave(temp.path() + "/nowhere");
  EXPECT_FALSE(written.ok());
  EXPECT_NE(written.status().ToString().find("nowhere"), std::string::npos) << written.status();
  ASSERT_OK(client.EndSave());
  // The first save may still be being written, hence the loop. A save that was begun and not ended
  // is aborted by the next.
  StatusOr<SavedDense> begun = client.BeginSave(std::vector<int>{0, 1}, true);
  while (absl::IsFailedPrecondition(begun.status())) {
    begun = client.BeginSave(std::vector<int>{0, 1}, true);
  }
  ASSERT_TRUE(begun.ok()) << begun.status();
  ASSERT_TRUE(client.BeginSave(std::vector<int>{0, 1}, true).ok());
  ASSERT_OK(client.EndSave());
  EXPECT_EQ(client.Load(temp.path() + "/none", {}).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace flotilla
