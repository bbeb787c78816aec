// Models saved and loaded by a trainer for servers that share no storage: the same files and the
// same model as by the servers themselves.
#include "flotilla/communicator/server_save.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "flotilla/base/rng.h"
#include "flotilla/optim/adam.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

ModelSpec AdamModel() {
  ModelSpec spec = CountingModel({20'000, 50}, {3, 1});
  spec.seed = 5;
  for (ParameterSpec& p : spec.parameters) p.attributes.init = Normal(0, 1);
  for (TableSpec& t : spec.tables) t.attributes.init = Uniform(-1, 1);
  spec.tables[1].keep_meta = true;
  spec.optimizer = Adam(0.01);
  return spec;
}

ClusterOptions Servers(int count, bool shared_storage, bool lost_replies = false) {
  ClusterOptions options{.servers = count};
  options.client.shared_storage = shared_storage;
  options.client.stored_rows = 100;
  options.client.retry.retry_times = 20;
  if (lost_replies) options.faults = FaultOptions{.lose_reply = 0.2};
  return options;
}

Status TrainSome(PsClient& client, int steps) {
  std::vector<float> dense(static_cast<size_t>(client.layout().size()));
  std::vector<SparseRows> rows = {RowsOf(IdRange(0, 5000), 3), RowsOf(IdRange(90, 60), 1)};
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

Status Save(PsClient& client, const std::string& dir, bool optimizer_state = true) {
  FL_ASSIGN_OR_RETURN(const auto save,
                      BeginServerSave(&client, {.optimizer_state = optimizer_state}, true));
  return save->Write(dir, {{"note", "text"}});
}

// Every file of a directory.
std::map<std::string, std::string> Files(const std::string& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

// Trains some more steps from a saved model; returns the files of the model after that.
std::map<std::string, std::string> GoOn(const std::string& from, const ClusterOptions& options,
                                        const std::string& to) {
  InProcessCluster cluster(AdamModel(), options);
  EXPECT_TRUE(cluster.ConnectAll().ok());
  const auto loaded = LoadIntoServers(&cluster.client(0), from, {}, true);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(cluster.client(0).global_step(), 4);
  EXPECT_EQ(cluster.client(0).seed(), 5u);
  EXPECT_TRUE(TrainSome(cluster.client(0), 3).ok());
  EXPECT_TRUE(Save(cluster.client(0), to).ok());
  return Files(to);
}

class ServerSaveTest : public ::testing::Test {
 protected:
  // The files of a model that the servers of `options` save after a few steps.
  std::map<std::string, std::string> Saved(const ClusterOptions& options, const std::string& name,
                                           bool optimizer_state = true) {
    InProcessCluster cluster(AdamModel(), options);
    EXPECT_TRUE(cluster.ConnectAll().ok());
    EXPECT_TRUE(TrainSome(cluster.client(0), 4).ok());
    const Status status = Save(cluster.client(0), Path(name), optimizer_state);
    EXPECT_TRUE(status.ok()) << status;
    return Files(Path(name));
  }
  std::string Path(const std::string& name) const { return temp_.path() + "/" + name; }

  const TempDir temp_;
};

TEST_F(ServerSaveTest, ATrainerWritesTheBytesThatServersWouldWrite) {
  const auto by_servers = Saved(Servers(3, true), "servers");
  EXPECT_EQ(by_servers.size(), 8u) << "a manifest, dense parameters, three parts of two tables";
  EXPECT_EQ(Saved(Servers(3, false), "trainer"), by_servers);
  EXPECT_EQ(Saved(Servers(3, false, true), "lost replies"), by_servers);
}

TEST_F(ServerSaveTest, WithoutOptimizerStateLikewise) {
  EXPECT_EQ(Saved(Servers(2, false), "trainer", false), Saved(Servers(2, true), "servers", false));
}

TEST_F(ServerSaveTest, WhatATrainerLoadsGoesOnAsWhatServersLoad) {
  Saved(Servers(3, true), "start");
  const auto by_servers = GoOn(Path("start"), Servers(2, true), Path("servers"));
  EXPECT_EQ(GoOn(Path("start"), Servers(2, false), Path("trainer")), by_servers);
  EXPECT_EQ(GoOn(Path("start"), Servers(2, false, true), Path("lost")), by_servers);
}

TEST_F(ServerSaveTest, RowsOfTheMomentAreWrittenWhileTrainingGoesOn) {
  const auto expected = Saved(Servers(2, true), "still");
  InProcessCluster cluster(AdamModel(), Servers(2, false));
  ASSERT_TRUE(cluster.ConnectAll().ok());
  ASSERT_TRUE(TrainSome(cluster.client(0), 4).ok());
  const auto save = BeginServerSave(&cluster.client(0), {}, true);
  ASSERT_TRUE(save.ok()) << save.status();
  ASSERT_TRUE(TrainSome(cluster.client(0), 3).ok());
  ASSERT_TRUE((*save)->Write(Path("meanwhile"), {{"note", "text"}}).ok());
  EXPECT_EQ(Files(Path("meanwhile")), expected);
}

// Saved by GEO (its servers have no state), loaded by a mode whose servers do.
TEST_F(ServerSaveTest, AModelOfGeoLoadsWithAFreshOptimizer) {
  {
    InProcessCluster geo(AdamModel(), Servers(2, true));
    ASSERT_TRUE(geo.ConnectAll().ok());
    ASSERT_TRUE(TrainSome(geo.client(0), 4).ok());
    const auto save = BeginServerSave(&geo.client(0), {}, /*has_state=*/false);
    ASSERT_TRUE(save.ok()) << save.status();
    ASSERT_TRUE((*save)->Write(Path("geo"), {}).ok());
  }
  for (const bool shared_storage : {true, false}) {
    InProcessCluster cluster(AdamModel(), Servers(3, shared_storage));
    ASSERT_TRUE(cluster.ConnectAll().ok());
    const auto loaded = LoadIntoServers(&cluster.client(0), Path("geo"), {}, true);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(loaded->fresh_optimizer);
    EXPECT_EQ(cluster.client(0).global_step(), 0);
    EXPECT_TRUE(TrainSome(cluster.client(0), 1).ok());
  }
  InProcessCluster again(AdamModel(), Servers(2, true));
  ASSERT_TRUE(again.ConnectAll().ok());
  const auto loaded = LoadIntoServers(&again.client(0), Path("geo"), {}, /*has_state=*/false);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE(loaded->fresh_optimizer) << "GEO's trainers keep it, whoever saved the model";
  EXPECT_EQ(again.client(0).global_step(), 4);
}

TEST_F(ServerSaveTest, WhatIsNoLongerTrainedLoadsWithoutItsState) {
  Saved(Servers(1, true), "start");
  ModelSpec frozen = AdamModel();
  frozen.parameters[0].attributes.trainable = false;
  frozen.tables[0].attributes.trainable = false;
  for (const bool shared_storage : {true, false}) {
    InProcessCluster cluster(frozen, Servers(2, shared_storage));
    ASSERT_TRUE(cluster.ConnectAll().ok());
    const auto loaded = LoadIntoServers(&cluster.client(0), Path("start"), {}, true);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
  }
}

TEST_F(ServerSaveTest, LoadingIntoTablesThatHaveRowsIsRefused) {
  Saved(Servers(1, true), "start");
  InProcessCluster cluster(AdamModel(), Servers(1, false));
  ASSERT_TRUE(cluster.ConnectAll().ok());
  ASSERT_TRUE(TrainSome(cluster.client(0), 1).ok());
  const auto loaded = LoadIntoServers(&cluster.client(0), Path("start"), {}, true);
  EXPECT_NE(loaded.status().ToString().find("already has"), std::string::npos) << loaded.status();
}

}  // namespace
}  // namespace flotilla
