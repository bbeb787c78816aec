#include "flotilla/run/run_saves.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/run/row_task.h"

namespace flotilla {
namespace {

Model OneLayer() {
  Graph g;
  const Var x = g.Dense("x", 2), label = g.Label("label");
  const Var loss = ReduceSum(CrossEntropy(Fc(x, 2, Softmax), label));
  return {.graph = std::move(g), .loss = loss, .optimizer = Sgd(0.1)};
}

class RunSavesTest : public ::testing::Test {
 protected:
  std::unique_ptr<RunSaves> Saves(KeepOptions options) {
    if (options.out.empty()) options.out = dir_.path();
    auto saves = RunSaves::Make(options, &task_, local_.get(), &clock_, {});
    EXPECT_TRUE(saves.ok()) << saves.status();
    return *std::move(saves);
  }
  void Train(int steps) {
    for (int i = 0; i < steps; ++i) {
      Gradients gradients;
      gradients.dense.assign(local_->dense().size(), 0);
      ASSERT_TRUE(local_->Push(0, gradients).ok());
    }
  }
  // Whether DIR/NAME exists once the running save has ended.
  bool Saved(RunSaves& saves, const std::string& name) const {
    EXPECT_TRUE(saves.Wait().ok());
    return std::filesystem::exists(dir_.path() + "/" + name);
  }

  const TempDir dir_;
  const Model model_ = OneLayer();
  const RowTask task_{{}, nullptr};  // saves only the position
  ManualClock clock_;
  const std::unique_ptr<LocalCommunicator> local_ = *LocalCommunicator::Make(SpecOf(model_, 1), {});
};

TEST_F(RunSavesTest, StepsAndMinutesCountFromTheLastSave) {
  const auto saves = Saves({.every_steps = 3, .every_minutes = 2, .keep = 0});
  Train(2);
  EXPECT_FALSE(saves->Due());
  Train(1);
  EXPECT_TRUE(saves->Due());
  ASSERT_TRUE(saves->SaveStep({}).ok());
  EXPECT_TRUE(Saved(*saves, "step_3"));
  EXPECT_FALSE(saves->Due());
  clock_.AdvanceMs(119'999);
  EXPECT_FALSE(saves->Due());
  clock_.AdvanceMs(1);
  EXPECT_TRUE(saves->Due());
  Train(1);
  ASSERT_TRUE(saves->SaveEpoch(0, /*best=*/false, /*last=*/false, {}).ok());
  EXPECT_TRUE(Saved(*saves, "epoch_0"));
  EXPECT_FALSE(saves->Due()) << "the save of the epoch counts too";
  Train(3);
  EXPECT_TRUE(saves->Due());
}

TEST_F(RunSavesTest, EveryNthEpochTheBestAndTheLastAreSaved) {
  const auto saves = Saves({.every_epochs = 3, .keep = 0});
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    ASSERT_TRUE(saves->SaveEpoch(epoch, /*best=*/epoch == 3, /*last=*/epoch == 7, {}).ok());
    EXPECT_EQ(Saved(*saves, fmt::format("epoch_{}", epoch)),
              epoch == 2 || epoch == 3 || epoch == 5 || epoch == 7)
        << epoch;
  }
}

TEST_F(RunSavesTest, WithZeroEpochsOnlyTheLastIsSaved) {
  const auto saves = Saves({.every_epochs = 0});
  ASSERT_TRUE(saves->SaveEpoch(0, false, /*last=*/false, {}).ok());
  EXPECT_FALSE(Saved(*saves, "epoch_0"));
  ASSERT_TRUE(saves->SaveEpoch(1, false, /*last=*/true, {}).ok());
  EXPECT_TRUE(Saved(*saves, "epoch_1"));
}

TEST_F(RunSavesTest, WithoutADirectoryNothingIsDueOrSaved) {
  auto saves = RunSaves::Make({.every_steps = 1}, &task_, local_.get(), &clock_, {});
  ASSERT_TRUE(saves.ok());
  EXPECT_FALSE((*saves)->enabled());
  Train(5);
  EXPECT_FALSE((*saves)->Due());
  EXPECT_TRUE((*saves)->SaveStep({}).ok());
  EXPECT_TRUE((*saves)->SaveEpoch(0, true, true, {}).ok());
  EXPECT_TRUE((*saves)->Wait().ok());
}

}  // namespace
}  // namespace flotilla
