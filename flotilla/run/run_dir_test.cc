#include "flotilla/run/run_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/writer.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunDirTest : public ::testing::Test {
 protected:
  // Saves a model of one parameter as DIR/NAME.
  void Save(const std::string& name, int64_t step) const {
    const std::vector<float> weights(100, 1.0f);
    const auto writer = CheckpointWriter::Begin(out_ + "/" + name, {.sync = false});
    ASSERT_TRUE(writer.ok()) << writer.status();
    PartWriter part((*writer)->temporary(), "part", {.sync = false});
    const ParameterValues values{
        .name = "w", .shape = {100}, .weights = weights, .state = {}, .states = 0};
    ASSERT_TRUE(part.WriteParameters({&values, 1}).ok());
    CheckpointInfo info{.step = step, .optimizer_state = false};
    info.optimizer.name = "sgd";
    ASSERT_TRUE((*writer)->Commit(info, {&part.part(), 1}).ok());
  }
  void PointLatest(const std::string& name) const {
    fs::create_directory_symlink(name, out_ + "/latest");
  }
  // Flips a byte of the model's tensors.
  void Damage(const std::string& name) const {
    for (const auto& entry : fs::directory_iterator(out_ + "/" + name)) {
      if (entry.path().extension() != ".safetensors") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-1, std::ios::end).put('\x55');
    }
  }

  StatusOr<std::unique_ptr<RunDir>> Open(RunDirOptions options = {}) {
    options.dir = out_;
    return RunDir::Open(options, [this](std::string_view line) { warning_ = line; });
  }
  std::string ErrorOf(const RunDirOptions& options = {}) {
    const auto run = Open(options);
    EXPECT_TRUE(absl::IsFailedPrecondition(run.status())) << run.status();
    return std::string(Message(run.status()));
  }
  // The model that a resumed run continues from.
  std::string Resumed() {
    const auto run = Open({.resume = true});
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? (*run)->model() : "";
  }

  const TempDir dir_;
  const std::string out_ = dir_.path() + "/out";
  std::string warning_;
};

TEST_F(RunDirTest, ASecondRunIsRefusedAndToldWhoHoldsTheDirectory) {
  auto first = Open({.command = "flotilla train lr --out out"});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(ErrorOf({.overwrite = true}),
              AllOf(HasSubstr("is in use by another run (pid " + std::to_string(getpid()) + " on "),
                    HasSubstr("`flotilla train lr --out out`")));
  EXPECT_THAT(ErrorOf({.resume = true}), HasSubstr("in use"));
  first->reset();
  EXPECT_TRUE(Open().ok());
}

TEST_F(RunDirTest, ADirectoryThatItMadeGoesWhenNothingWasSaved) {
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(fs::exists(out_));
  fs::create_directory(out_);
  ASSERT_TRUE(Open().ok());
  EXPECT_TRUE(fs::exists(out_));
}

TEST_F(RunDirTest, ModelsOfAnotherRunAreRefusedNamingThemAndTheWaysOut) {
  {
    auto run = Open({.command = "flotilla train ctr_dnn"});
    ASSERT_TRUE(run.ok());
    Save("epoch_0", 10);
    Save("epoch_1", 20);
  }
  EXPECT_THAT(ErrorOf(), AllOf(HasSubstr("has models of another run: epoch_0, epoch_1, the newest"),
                               HasSubstr("at step 20"), HasSubstr("`flotilla train ctr_dnn`"),
                               HasSubstr("--resume to continue it, --overwrite to replace it")));
  EXPECT_TRUE(Open({.overwrite = true}).ok());
  EXPECT_THAT(ModelsIn(out_), ElementsAre("epoch_0", "epoch_1"));
}

TEST_F(RunDirTest, AModelIsNoDirectoryForModels) {
  Save(".", 1);
  EXPECT_THAT(ErrorOf({.overwrite = true}), HasSubstr("is itself a model"));
}

TEST_F(RunDirTest, GoesOnWithTheLatestAndAnewWhereNothingWasSavedYet) {
  EXPECT_THAT(Resumed(), IsEmpty());
  fs::create_directories(out_ + "/epoch_0.saving");  // a run that was killed in its first save
  EXPECT_THAT(Resumed(), IsEmpty());
  Save("epoch_0", 10);
  Save("epoch_1", 20);
  PointLatest("epoch_0");
  EXPECT_EQ(Resumed(), out_ + "/latest");
  EXPECT_THAT(warning_, IsEmpty());
}

TEST_F(RunDirTest, WithoutLatestGoesOnWithTheNewestWholeModel) {
  Save("epoch_0", 10);
  Save("step_15", 15);
  Save("epoch_1", 20);
  Damage("epoch_1");
  EXPECT_EQ(Resumed(), out_ + "/step_15");
  EXPECT_THAT(warning_,
              AllOf(HasSubstr("latest is missing"), HasSubstr("continuing from step_15")));
  PointLatest("epoch_7");
  EXPECT_EQ(Resumed(), out_ + "/step_15");
  EXPECT_THAT(warning_, HasSubstr("latest points to epoch_7, which does not exist"));
}

// A save was killed between its two renames: the old model has its temporary name.
TEST_F(RunDirTest, AModelThatStandsAsideIsFound) {
  Save("epoch_0", 10);
  fs::rename(out_ + "/epoch_0", out_ + "/epoch_0.replaced");
  EXPECT_EQ(Resumed(), out_ + "/epoch_0");
  EXPECT_THAT(ErrorOf(), HasSubstr("epoch_0"));
}

TEST_F(RunDirTest, RefusesToStartAnewWhereNoModelIsWhole) {
  Save("epoch_0", 10);
  Damage("epoch_0");
  fs::create_directory(out_ + "/epoch_1");
  EXPECT_THAT(
      ErrorOf({.resume = true}),
      AllOf(HasSubstr("has no complete model to continue from"), HasSubstr("latest is missing"),
            HasSubstr("epoch_0: "), HasSubstr("epoch_1: "), HasSubstr("--overwrite")));
  fs::remove_all(out_);
  fs::create_directory(out_);
  PointLatest("epoch_3");
  EXPECT_THAT(ErrorOf({.resume = true}), HasSubstr("latest points to epoch_3"));
}

}  // namespace
}  // namespace flotilla
