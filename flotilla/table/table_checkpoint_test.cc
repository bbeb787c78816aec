#include "flotilla/table/table_checkpoint.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/table/table_testing.h"

namespace flotilla {
namespace {

TableSpec Spec(int64_t rows = 0, bool meta = true) {
  TableSpec spec = MakeTableSpec("emb", 3, rows, Uniform(-1, 1));
  spec.keep_meta = meta;
  return spec;
}

// Rows of a table by id: weights, state, meta.
using Rows = std::map<uint64_t, std::vector<float>>;

Rows RowsOf(const SparseTable& table) {
  Rows rows;
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    table.ForEachRow(shard, RowOrder::kStorage, [&](const RowView& row) {
      std::vector<float>& out = rows[row.id];
      out.assign(row.weights.begin(), row.weights.end());
      out.insert(out.end(), row.state.begin(), row.state.end());
      out.push_back(static_cast<float>(row.meta.pushes));
      out.push_back(static_cast<float>(row.meta.last_step));
    });
  }
  return rows;
}

std::unique_ptr<SparseTable> Trained(const TableSpec& spec, uint64_t ids, uint64_t seed = 1) {
  auto table = MustMakeTable(spec, 2, seed);
  for (uint64_t step = 1; step <= 3; ++step) {
    std::vector<uint64_t> touched;
    for (uint64_t id = 0; id < ids; id += step) touched.push_back(id);
    EXPECT_TRUE(table
                    ->Push(MakeRows(touched, 3, static_cast<float>(step)),
                           {.step = static_cast<int64_t>(step)})
                    .ok());
  }
  return table;
}

// Saves a table by `writers` writers, each with its own shards.
void Save(SparseTable& table, const std::string& dir, bool with_state, int writers = 1) {
  ASSERT_TRUE(table.BeginCut().ok());
  const auto writer = CheckpointWriter::Begin(dir, {.sync = false});
  ASSERT_TRUE(writer.ok()) << writer.status();
  std::vector<CheckpointPart> parts;
  for (int w = 0; w < writers; ++w) {
    PartWriter part((*writer)->temporary(), fmt::format("server-{}", w), {.sync = false});
    const int first = w * kVirtualShards / writers;
    const ShardRange shards{first, (w + 1) * kVirtualShards / writers - first};
    const Status written = WriteTable(table, shards, with_state, &part);
    ASSERT_TRUE(written.ok()) << written;
    // Converted to text and back, as when sent from a server.
    parts.push_back(*CheckpointPart::FromText(*part.part().ToText()));
  }
  table.EndCut();
  const Status status = (*writer)->Commit({.optimizer_state = with_state}, parts);
  ASSERT_TRUE(status.ok()) << status;
}

Status Load(const std::string& dir, bool with_state, int servers, int threads, SparseTable* table) {
  for (int s = 0; s < servers; ++s) {
    const int first = s * kVirtualShards / servers;
    const ShardRange shards{first, (s + 1) * kVirtualShards / servers - first};
    FL_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(dir, {.shards = shards}));
    FL_RETURN_IF_ERROR(
        LoadTable(*reader, reader->manifest().tables[0], shards, with_state, threads, table));
  }
  return absl::OkStatus();
}

TEST(TableCheckpointTest, ATableComesBackWithStateAndMetaForAnyNumberOfServers) {
  TempDir temp;
  for (const TableKind& kind : TableKinds(20'000)) {
    auto table = Trained(Spec(kind.rows), 15'000);
    for (const int writers : {1, 3}) {
      Save(*table, temp.path() + "/model", true, writers);
      for (const int servers : {1, 2, 5}) {
        auto loaded = MustMakeTable(Spec(kind.rows), 2, 1, kind.options);
        const Status status = Load(temp.path() + "/model", true, servers, 2, loaded.get());
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(loaded->size(), table->size());
        ASSERT_EQ(RowsOf(*loaded), RowsOf(*table)) << writers << " " << servers;
      }
    }
  }
}

TEST(TableCheckpointTest, WithoutStateRowsGetAFreshOne) {
  TempDir temp;
  auto table = Trained(Spec(), 100);
  for (const bool saved : {true, false}) {
    Save(*table, temp.path() + "/model", saved);
    auto loaded = MustMakeTable(Spec(), 2);
    ASSERT_TRUE(Load(temp.path() + "/model", false, 1, 1, loaded.get()).ok());
    Rows expected = RowsOf(*table);
    for (auto& [id, row] : expected) {
      std::fill(row.begin() + 3, row.begin() + 6, 7.0f);
      std::fill(row.begin() + 6, row.begin() + 9, 8.0f);
      std::fill(row.begin() + 9, row.end(), 0.0f);
    }
    EXPECT_EQ(RowsOf(*loaded), expected);
  }
}

TEST(TableCheckpointTest, ASaveHoldsTheMomentOfItsCutWhilePushesGoOn) {
  TempDir temp;
  auto table = Trained(Spec(), 5'000);
  const Rows then = RowsOf(*table);
  ASSERT_TRUE(table->BeginCut().ok());
  std::thread pushes([&] {
    for (int64_t step = 4; step < 20; ++step) {
      std::vector<uint64_t> ids;
      for (uint64_t id = 0; id < 9'000; id += 3) ids.push_back(id);
      EXPECT_TRUE(table->Push(MakeRows(ids, 3), {.step = step}).ok());
    }
  });
  const auto writer = CheckpointWriter::Begin(temp.path() + "/model", {.sync = false});
  ASSERT_TRUE(writer.ok());
  PartWriter part((*writer)->temporary(), "p", {.sync = false});
  ASSERT_TRUE(WriteTable(*table, {}, true, &part).ok());
  pushes.join();
  table->EndCut();
  ASSERT_TRUE((*writer)->Commit({}, {&part.part(), 1}).ok());
  auto loaded = MustMakeTable(Spec(), 2);
  ASSERT_TRUE(Load(temp.path() + "/model", true, 1, 1, loaded.get()).ok());
  EXPECT_EQ(RowsOf(*loaded), then);
  EXPECT_NE(RowsOf(*table), then);
}

TEST(TableCheckpointTest, AnEmptyTableComesBackEmpty) {
  TempDir temp;
  auto table = MustMakeTable(Spec(), 2);
  Save(*table, temp.path() + "/model", true);
  auto loaded = MustMakeTable(Spec(), 2);
  ASSERT_TRUE(Load(temp.path() + "/model", true, 2, 2, loaded.get()).ok());
  EXPECT_EQ(loaded->size(), 0);
}

TEST(TableCheckpointTest, RowsThatAreMadeLaterDrawFromTheSeedThatWasSet) {
  auto table = MustMakeTable(Spec(), 2, 5);
  auto other = MustMakeTable(Spec(), 2, 6);
  other->SetSeed(5);
  SparseRows a = MakeRows({1, 2, 3}, 3), b = a;
  ASSERT_TRUE(table->Pull(Missing::kDefault, &a).ok());
  ASSERT_TRUE(other->Pull(Missing::kDefault, &b).ok());
  EXPECT_EQ(a.values, b.values);
}

TEST(TableCheckpointTest, WhatDoesNotFitIsSaid) {
  const SavedTable saved{.name = "emb", .dim = 3, .id_limit = 10, .states = 2, .parts = {}};
  EXPECT_TRUE(CheckTableFits(saved, Spec(), 2).ok());
  EXPECT_TRUE(CheckTableFits(saved, Spec(10), 0).ok());
  EXPECT_TRUE(CheckTableFits(saved, Spec(11), 2).ok());
  EXPECT_EQ(Message(CheckTableFits(saved, Spec(9), 2)), "ids below 10 there, ids below 9 here");
  EXPECT_EQ(Message(CheckTableFits(saved, Spec(), 1)), "2 states per weight there, 1 here");
  SavedTable other = saved;
  other.dim = 4;
  EXPECT_EQ(Message(CheckTableFits(other, Spec(), 2)), "dim 4 there, 3 here");
  other = saved;
  other.id_limit = 0;
  EXPECT_EQ(Message(CheckTableFits(other, Spec(9), 2)), "any id there, ids below 9 here");
}

TEST(TableCheckpointTest, PartsThatDoNotFitAreNamedAndNothingIsLoaded) {
  TempDir temp;
  Save(*Trained(Spec(), 100), temp.path() + "/model", true);
  const auto reader = *CheckpointReader::Open(temp.path() + "/model", {});
  ModelSpec spec{.tables = {Spec()}, .optimizer = Adam(0.1)};
  const auto dense = *DenseTable::Make(spec);
  const auto load = [&](const ModelSpec& model) {
    std::vector<std::unique_ptr<SparseTable>> tables;
    LoadTarget target{.tables = {}, .shards = {}, .dense = dense.get(), .slices = {}};
    LoadParts parts;
    for (const TableSpec& table : model.tables) {
      parts.tables.push_back(static_cast<int>(tables.size()));
      tables.push_back(MustMakeTable(table, 2));
      target.tables.push_back(tables.back().get());
    }
    const Status status = LoadModelParts(*reader, model, parts, 1, target);
    EXPECT_EQ(tables[0]->size(), status.ok() ? 100 : 0);
    if (status.ok()) {
      EXPECT_EQ(Message(LoadModelParts(*reader, model, parts, 1, target)),
                "table emb already has 100 rows: a model can be loaded only into empty tables");
    }
    return std::string(Message(status));
  };
  EXPECT_EQ(load(spec), "");
  spec.tables.push_back(MakeTableSpec("other", 3, 0, Uniform(-1, 1)));
  EXPECT_EQ(load(spec), "table other is missing");
  spec.tables[1] = MakeTableSpec("emb", 4, 0, Uniform(-1, 1));
  EXPECT_EQ(load(spec), "table emb: dim 3 there, 4 here");
}

TEST(TableCheckpointTest, StateGoesOnOnlyWithTheRuleThatMadeIt) {
  EXPECT_TRUE(CheckSameRule(Adam(0.1), Adam(0.5)).ok()) << "another rate is no other rule";
  EXPECT_EQ(Message(CheckSameRule(Sgd(0.1), Adam(0.1))),
            "the optimizer state was saved by sgd, this model uses adam (beta1=0.9, "
            "beta2=0.999, epsilon=1e-08)");
  OptimizerSpec other = Adam(0.1);
  other.params["beta1"] = 0.8;
  EXPECT_FALSE(CheckSameRule(Adam(0.1), other).ok());
}

}  // namespace
}  // namespace flotilla
