// Writer and reader together: what is written is read back, with any number of readers and writers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/checkpoint_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

TEST(CheckpointTest, WhatIsWrittenIsReadWhateverTheNumberOfWriters) {
  TempDir temp;
  for (const int writers : {1, 2, 5, 16}) {
    const TestModel model{.version = 3, .writers = writers};
    ASSERT_TRUE(model.Save(temp.path() + "/model").ok());
    const auto content = ReadModel(temp.path() + "/model");
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(*content, model.Content()) << writers;
  }
}

TEST(CheckpointTest, ThreadsOfVerificationDoNotChangeTheResult) {
  TempDir temp;
  const TestModel model{.wide_rows = 60'000};  // 12 MB
  ASSERT_TRUE(model.Save(temp.path() + "/model").ok());
  for (const int threads : {0, 1, 3}) {
    const auto content = ReadModel(temp.path() + "/model", {.threads = threads, .shards = {}});
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_EQ(*content, model.Content());
  }
}

TEST(CheckpointTest, ReadersOfShardsTogetherReadEveryRowOnce) {
  TempDir temp;
  const TestModel model{.wide_rows = 2'000, .writers = 3};
  ASSERT_TRUE(model.Save(temp.path() + "/model").ok());
  std::vector<uint64_t> ids;
  for (const ShardRange shards : {ShardRange{0, 100}, ShardRange{100, 1}, ShardRange{101, 411}}) {
    const auto content = ReadModel(temp.path() + "/model", {.threads = 1, .shards = shards});
    ASSERT_TRUE(content.ok()) << content.status();
    const auto& part = content->ids.at("wide/table");
    ids.insert(ids.end(), part.begin(), part.end());
  }
  EXPECT_EQ(ids, model.Content().ids["wide/table"]);
}

// Four files of one table; damage in one of them does not affect a reader of the others.
TEST(CheckpointTest, AReaderLooksOnlyAtTheShardsItWants) {
  TempDir temp;
  const TestModel model{.writers = 4};
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(model.Save(dir).ok());
  const std::string damaged = dir + "/table-0-emb.part-3.safetensors";
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<int64_t>(std::filesystem::file_size(damaged)) - 1);
    file.put('x');
  }
  EXPECT_TRUE(ReadModel(dir, {.shards = {0, 384}}).ok());
  const Status status = ReadModel(dir, {.shards = {383, 2}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status)),
              HasSubstr("table-0-emb.part-3.safetensors: checksum mismatch at offset 0"));
}

TEST(CheckpointTest, WeightsCanBeReadWithoutState) {
  TempDir temp;
  ASSERT_TRUE(TestModel{}.Save(temp.path() + "/model").ok());
  const auto reader = CheckpointReader::Open(temp.path() + "/model");
  ASSERT_TRUE(reader.ok());
  int64_t rows = 0;
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    ASSERT_TRUE((*reader)
                    ->ReadRows(*(*reader)->manifest().FindTable("emb"), shard,
                               CheckpointReader::Columns::kWeights,
                               [&](const TableRows& part) {
                                 rows += static_cast<int64_t>(part.ids.size());
                                 EXPECT_EQ(part.weights.size(), 3 * part.ids.size());
                                 EXPECT_TRUE(part.state.empty() && part.meta.empty());
                                 return absl::OkStatus();
                               })
                    .ok());
  }
  EXPECT_EQ(rows, 300);
}

TEST(CheckpointTest, TheManifestCanBeReadAlone) {
  TempDir temp;
  const TestModel model;
  ASSERT_TRUE(model.Save(temp.path() + "/model").ok());
  const auto manifest = ReadManifest(temp.path() + "/model/");
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->info, model.Info());
  EXPECT_EQ(manifest->FindTable("emb")->rows(), 300);
  EXPECT_EQ(manifest->FindParameter("emb"), nullptr);
}

TEST(CheckpointTest, WhereThereIsNoModelTheErrorSaysSo) {
  TempDir temp;
  const Status none = ReadModel(temp.path() + "/none").status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(none)), HasSubstr("/none: cannot open: No such file"));
  const Status empty = ReadModel(temp.path()).status();
  EXPECT_EQ(empty.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(empty)), HasSubstr("is not a model directory"));
}

TEST(CheckpointTest, RowsThatWereNotAnnouncedAreErrors) {
  TempDir temp;
  const SavedTable table{.name = "t", .dim = 1, .parts = {}};
  std::vector<int64_t> rows(kVirtualShards);
  rows[static_cast<size_t>(VirtualShard(5))] = 2;
  const float weight = 1;
  const auto finish = [&](std::vector<uint64_t> ids) {
    PartWriter part(temp.path(), fmt::format("p{}", ids.size()), {.sync = false});
    const auto writer = part.BeginTable(table, {}, rows);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (const uint64_t id : ids) (*writer)->Add(id, {&weight, 1}, {}, 0, 0);
    return std::string(Message(part.FinishTable()));
  };
  EXPECT_EQ(finish({5}), "table t: 1 rows were written, 2 were announced");
  EXPECT_EQ(finish({5, 5}), "table t: id 5 is not in the announced order");
  EXPECT_EQ(finish({6, 7, 8}), "table t: id 6 is not in the announced order");
}

TEST(CheckpointTest, AModelWithoutOneWritersPartIsNotCommitted) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  const TestModel model{.writers = 2};
  {
    const auto writer = CheckpointWriter::Begin(dir, {});
    ASSERT_TRUE(writer.ok());
    const auto part = model.WritePart((*writer)->temporary(), 0, {});
    ASSERT_TRUE(part.ok());
    EXPECT_EQ(Message((*writer)->Commit(model.Info(), std::vector{*part})),
              "table emb: its files have the shards below 256, not all 512");
  }
  EXPECT_TRUE(std::filesystem::is_empty(temp.path()));
}

}  // namespace
}  // namespace flotilla
