#include "flotilla/run/model_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/optim/adam.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelSpec OneParameter() {
  ModelSpec spec;
  spec.optimizer = Adam(0.1);
  spec.parameters.resize(1);
  spec.parameters[0].name = "w";
  spec.parameters[0].shape = {2, 3};
  return spec;
}

class ModelKeeperTest : public ::testing::Test {
 protected:
  std::unique_ptr<ModelKeeper> Keeper(ModelKeeperOptions options) {
    options.dir = dir_.path();
    options.on_saved = [this](const std::string& dir, int64_t, double) { saved_.push_back(dir); };
    options.on_failed = [this](const std::string& dir, const Status&) { failed_.push_back(dir); };
    return std::make_unique<ModelKeeper>(local_.get(), std::move(options));
  }
  static void Save(ModelKeeper& keeper, const std::string& name, bool best = false) {
    const Status begun = keeper.Begin(name, best, {});
    ASSERT_TRUE(begun.ok()) << begun;
    const Status written = keeper.Wait();
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_FALSE(keeper.busy());
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  std::string Link(const std::string& name) const { return fs::read_symlink(Path(name)).string(); }

  const TempDir dir_;
  const std::unique_ptr<LocalCommunicator> local_ = *LocalCommunicator::Make(OneParameter(), {});
  std::vector<std::string> saved_, failed_;
};

TEST_F(ModelKeeperTest, TheBestIsKeptInAdditionToTheNewest) {
  const auto keeper = Keeper({.keep = 2});
  Save(*keeper, "epoch_0", /*best=*/true);
  for (const char* name : {"epoch_1", "epoch_2", "epoch_3"}) Save(*keeper, name);
  EXPECT_THAT(Names(), ElementsAre("best", "epoch_0", "epoch_2", "epoch_3", "latest"));
  EXPECT_EQ(Link("best"), "epoch_0");
  EXPECT_EQ(Link("latest"), "epoch_3");
  // The old best one is now just old; the new best one is one of the newest two.
  Save(*keeper, "epoch_4", /*best=*/true);
  EXPECT_THAT(Names(), ElementsAre("best", "epoch_3", "epoch_4", "latest"));
  EXPECT_EQ(saved_.size(), 5u);
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(ModelKeeperTest, WithZeroAllAreKept) {
  const auto keeper = Keeper({.keep = 0});
  for (const char* name : {"epoch_0", "epoch_1", "epoch_2", "epoch_3"}) Save(*keeper, name);
  EXPECT_THAT(Names(), ElementsAre("epoch_0", "epoch_1", "epoch_2", "epoch_3", "latest"));
}

TEST_F(ModelKeeperTest, ModelsOfAResumedRunCount) {
  Save(*Keeper({.keep = 2}), "epoch_0", /*best=*/true);
  Save(*Keeper({.keep = 2}), "step_7");
  const auto resumed = Keeper({.keep = 2});
  Save(*resumed, "epoch_1");
  Save(*resumed, "epoch_2");
  EXPECT_THAT(Names(), ElementsAre("best", "epoch_0", "epoch_1", "epoch_2", "latest"));
}

TEST_F(ModelKeeperTest, AnotherRunIsReplacedByTheFirstSaveAndNotBefore) {
  Save(*Keeper({}), "epoch_0", /*best=*/true);
  Save(*Keeper({}), "epoch_1");
  const auto keeper = Keeper({.overwrite = true});
  EXPECT_THAT(Names(), ElementsAre("best", "epoch_0", "epoch_1", "latest"));
  Save(*keeper, "epoch_0");
  EXPECT_THAT(Names(), ElementsAre("epoch_0", "latest"));
}

TEST_F(ModelKeeperTest, TheBestOfAnotherRunDoesNotBecomeThisRunsByItsName) {
  Save(*Keeper({}), "epoch_0", /*best=*/true);
  Save(*Keeper({.overwrite = true}), "epoch_0");
  EXPECT_THAT(Names(), ElementsAre("epoch_0", "latest"));
}

TEST_F(ModelKeeperTest, AModelWithFilesOfOthersIsNotRemoved) {
  const auto keeper = Keeper({.keep = 1});
  Save(*keeper, "epoch_0");
  dir_.Write("epoch_0/notes.txt", "mine");
  Save(*keeper, "epoch_1");
  EXPECT_EQ(ContentOf(Path("epoch_0/notes.txt")), "mine");
  Save(*keeper, "epoch_2");
  EXPECT_THAT(Names(), ElementsAre("epoch_0", "epoch_2", "latest"));
}

TEST_F(ModelKeeperTest, AFailedSaveIsReportedAndTheNextOneMaySucceed) {
  const auto keeper = Keeper({});
  Save(*keeper, "epoch_0");
  dir_.Write("epoch_1", "a file where the model should be");
  ASSERT_TRUE(keeper->Begin("epoch_1", /*best=*/true, {}).ok());
  const Status failed = keeper->Wait();
  EXPECT_FALSE(failed.ok());
  EXPECT_THAT(std::string(Message(failed)), HasSubstr("epoch_1"));
  EXPECT_THAT(failed_, ElementsAre(Path("epoch_1")));
  EXPECT_EQ(Link("latest"), "epoch_0");
  EXPECT_FALSE(fs::exists(Path("best")));
  Save(*keeper, "epoch_2");
  EXPECT_EQ(Link("latest"), "epoch_2");
}

TEST_F(ModelKeeperTest, TheModelHasTheSectionsAndTheStateOfTheOptimizer) {
  const auto keeper = Keeper({});
  ASSERT_TRUE(keeper->Begin("epoch_0", /*best=*/false, {{"run", "text"}}).ok());
  ASSERT_TRUE(keeper->Wait().ok());
  const auto reader = CheckpointReader::Open(Path("latest"), {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->manifest().info.sections.at("run"), "text");
  EXPECT_TRUE((*reader)->manifest().info.optimizer_state);
}

}  // namespace
}  // namespace flotilla
