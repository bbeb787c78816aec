#include "flotilla/checkpoint/model_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/checkpoint_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<std::string> NamesIn(const std::string& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

int VersionAt(const std::string& dir) {
  const auto content = ReadModel(dir);
  EXPECT_TRUE(content.ok()) << content.status();
  if (!content.ok()) return 0;
  const int version = static_cast<int>(content->info.step) - 100;
  EXPECT_EQ(*content, TestModel{.version = version}.Content());
  return version;
}

TEST(ModelDirTest, ASaveTakesThePlaceOfTheModelBefore) {
  TempDir temp;
  const std::string dir = temp.path() + "/deep/er/model";
  for (const bool exchange : {true, false}) {
    for (int version = 1; version <= 3; ++version) {
      const Status saved =
          TestModel{.version = version}.Save(dir, {.sync = version == 3, .exchange = exchange});
      ASSERT_TRUE(saved.ok()) << saved;
      EXPECT_EQ(VersionAt(dir), version);
      EXPECT_EQ(NamesIn(temp.path() + "/deep/er"), std::vector<std::string>{"model"});
    }
  }
}

TEST(ModelDirTest, ASaveThatIsGivenUpLeavesTheOldModelAndNothingElse) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(TestModel{}.Save(dir).ok());
  {
    const auto writer = CheckpointWriter::Begin(dir, {});
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(TestModel{.version = 2}.WritePart((*writer)->temporary(), 0, {}).ok());
    EXPECT_EQ(NamesIn(temp.path()), (std::vector<std::string>{"model", "model.saving"}));
  }
  EXPECT_EQ(NamesIn(temp.path()), std::vector<std::string>{"model"});
  EXPECT_EQ(VersionAt(dir), 1);
}

TEST(ModelDirTest, LeftoversOfAKilledSaveAreRemovedByTheNext) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(TestModel{.version = 1}.Save(dir).ok());
  fs::copy(dir, dir + ".saving");
  fs::remove(dir + ".saving/manifest.json");
  fs::copy(dir, dir + ".replaced");
  EXPECT_EQ(VersionAt(dir), 1);
  ASSERT_TRUE(TestModel{.version = 2}.Save(dir).ok());
  EXPECT_EQ(VersionAt(dir), 2);
  EXPECT_EQ(NamesIn(temp.path()), std::vector<std::string>{"model"});
}

// The state after a kill between the two renames, when directories cannot be exchanged.
TEST(ModelDirTest, BetweenTwoRenamesTheOldModelIsFoundByReadersAndSaves) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(TestModel{.version = 1}.Save(dir).ok());
  fs::rename(dir, dir + ".replaced");
  ASSERT_TRUE(TestModel{.version = 2}.Save(temp.path() + "/other").ok());
  fs::rename(temp.path() + "/other", dir + ".saving");
  EXPECT_EQ(VersionAt(dir), 1);
  {
    const auto save = ModelDirSave::Begin(dir, true);
    ASSERT_TRUE(save.ok()) << save.status();
    EXPECT_EQ(VersionAt(dir), 1);
  }
  EXPECT_EQ(NamesIn(temp.path()), std::vector<std::string>{"model"});
}

TEST(ModelDirTest, ASecondSaveToTheSamePlaceIsRefusedWhileOneRuns) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  {
    const auto first = ModelDirSave::Begin(dir, true);
    ASSERT_TRUE(first.ok());
    const Status second = ModelDirSave::Begin(dir + "/", true).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(Message(second)), HasSubstr("another save to"));
  }
  EXPECT_TRUE(ModelDirSave::Begin(dir, true).ok());
}

TEST(ModelDirTest, WhatIsNotAModelIsNeverReplaced) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  ASSERT_TRUE(TestModel{}.Save(dir).ok());
  temp.Write("model/notes.txt", "mine");
  Status status = TestModel{.version = 2}.Save(dir);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("/model/notes.txt is not part of a model"));
  fs::remove(dir + "/notes.txt");
  fs::remove(dir + "/manifest.json");
  status = TestModel{.version = 2}.Save(dir);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("does not belong to a model"));
  status = TestModel{}.Save(temp.Write("file", "mine"));
  EXPECT_THAT(std::string(Message(status)), HasSubstr("/file is not a directory"));
  EXPECT_FALSE(TestModel{}.Save("").ok());
  EXPECT_FALSE(TestModel{}.Save("/").ok());
}

TEST(ModelDirTest, AModelThatIsRemovedIsGone) {
  TempDir temp;
  const std::string dir = temp.path() + "/epoch_1";
  ASSERT_TRUE(TestModel{}.Save(dir).ok());
  temp.Write("epoch_1/notes.txt", "mine");
  EXPECT_EQ(RemoveModelDir(dir).code(), absl::StatusCode::kFailedPrecondition);
  fs::remove(dir + "/notes.txt");
  EXPECT_EQ(VersionAt(dir), 1) << "nothing was removed";
  EXPECT_TRUE(RemoveModelDir(dir).ok());
  EXPECT_EQ(NamesIn(temp.path()), std::vector<std::string>{});
}

TEST(ModelDirTest, WhatAKilledRemovalLeftIsSweptAndNothingElse) {
  TempDir temp;
  for (const char* name : {"epoch_1", "epoch_2.removing", "mine.removing", "epoch_3.removing"}) {
    ASSERT_TRUE(TestModel{}.Save(temp.path() + "/" + name).ok());
  }
  fs::remove(temp.path() + "/epoch_2.removing/manifest.json");  // the kill came later
  temp.Write("epoch_3.removing/notes.txt", "mine");
  temp.Write("epoch_4.removing", "a file");
  SweepLeftovers(temp.path(), [](const std::string& name) { return name.starts_with("epoch_"); });
  EXPECT_EQ(NamesIn(temp.path()), (std::vector<std::string>{"epoch_1", "epoch_3.removing",
                                                            "epoch_4.removing", "mine.removing"}));
}

// A removal that has failed leaves the model under the other name.
TEST(ModelDirTest, ARemovalThatFailedIsCompletedByTheNext) {
  TempDir temp;
  const std::string dir = temp.path() + "/epoch_1";
  ASSERT_TRUE(TestModel{}.Save(dir + ".removing").ok());
  EXPECT_TRUE(RemoveModelDir(dir).ok());
  EXPECT_EQ(NamesIn(temp.path()), std::vector<std::string>{});
  EXPECT_TRUE(RemoveModelDir(dir).ok()) << "there is none";
}

TEST(ModelDirTest, AReplacedModelIsSweptOnlyIfItsSuccessorIsThere) {
  TempDir temp;
  for (const char* name : {"epoch_1", "epoch_1.replaced", "epoch_2.replaced"}) {
    ASSERT_TRUE(TestModel{}.Save(temp.path() + "/" + name).ok());
  }
  SweepLeftovers(temp.path(), [](const std::string& name) { return name.starts_with("epoch_"); });
  EXPECT_EQ(NamesIn(temp.path()), (std::vector<std::string>{"epoch_1", "epoch_2.replaced"}));
  EXPECT_EQ(VersionAt(temp.path() + "/epoch_2"), 1);
}

TEST(ModelDirTest, WhatAKilledSaveLeftIsSweptButNotASaveInProgress) {
  TempDir temp;
  ASSERT_TRUE(TestModel{}.Save(temp.path() + "/epoch_1").ok());
  for (const char* name : {"epoch_2.saving", "mine.saving"}) {
    fs::create_directory(temp.path() + "/" + name);
    temp.Write(std::string(name) + "/dense.safetensors", "half");
  }
  const auto save = ModelDirSave::Begin(temp.path() + "/epoch_3", true);
  ASSERT_TRUE(save.ok()) << save.status();
  SweepLeftovers(temp.path(), [](const std::string& name) { return name.starts_with("epoch_"); });
  EXPECT_EQ(NamesIn(temp.path()),
            (std::vector<std::string>{"epoch_1", "epoch_3.saving", "mine.saving"}));
}

TEST(ModelDirTest, AnEmptyDirectoryIsReplaced) {
  TempDir temp;
  fs::create_directory(temp.path() + "/model");
  ASSERT_TRUE(TestModel{}.Save(temp.path() + "/model").ok());
  EXPECT_EQ(VersionAt(temp.path() + "/model"), 1);
}

TEST(ModelDirTest, ASaveThroughALinkReplacesWhatItPointsTo) {
  TempDir temp;
  ASSERT_TRUE(TestModel{.version = 1}.Save(temp.path() + "/epoch_1").ok());
  fs::create_symlink("epoch_1", temp.path() + "/latest");
  ASSERT_TRUE(TestModel{.version = 2}.Save(temp.path() + "/latest").ok());
  EXPECT_TRUE(fs::is_symlink(temp.path() + "/latest"));
  EXPECT_EQ(VersionAt(temp.path() + "/epoch_1"), 2);
}

}  // namespace
}  // namespace flotilla
