#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelSpec SavedSpec(OptimizerSpec optimizer = Adam(PiecewiseDecay({3, 5}, {0.1, 0.05, 0.01}))) {
  ModelSpec spec;
  spec.optimizer = std::move(optimizer);
  spec.seed = 4;
  spec.parameters.resize(3);
  spec.parameters[0].name = "w";
  spec.parameters[0].shape = {20, 30};
  spec.parameters[0].attributes.init = Uniform(-1, 1);
  spec.parameters[1].name = "mean";
  spec.parameters[1].shape = {3};
  spec.parameters[1].moving_average_keep = 0.9;
  spec.parameters[2].name = "frozen";
  spec.parameters[2].shape = {};
  spec.parameters[2].attributes.trainable = false;
  spec.tables.resize(2);
  spec.tables[0].name = "emb";
  spec.tables[0].dim = 2;
  spec.tables[0].attributes.init = Uniform(-1, 1);
  spec.tables[0].keep_meta = true;
  spec.tables[1].name = "fixed";
  spec.tables[1].dim = 1;
  spec.tables[1].rows = 50;
  return spec;
}

std::unique_ptr<LocalCommunicator> MakeToSave(const ModelSpec& spec, bool joined = true) {
  auto local = LocalCommunicator::Make(spec, {.joined = joined, .save = {.sync = false}});
  EXPECT_TRUE(local.ok()) << local.status();
  return *std::move(local);
}

// Step `step` of a training whose gradients depend on nothing else. New rows come in every step.
void TrainStep(Communicator& communicator, int64_t step) {
  const RngKey key = RngKey(9).With(static_cast<uint64_t>(step));
  std::vector<SparseRows> rows(2);
  for (uint64_t i = 0; i < 20; ++i) rows[0].ids.push_back(1000 * i + key.Below(i, 40));
  for (uint64_t i = 0; i < 5; ++i) rows[1].ids.push_back(10 * i + key.Below(i, 10));
  ASSERT_TRUE(communicator.Pull(0, Missing::kCreate, rows).ok());
  Gradients gradients;
  gradients.dense.resize(static_cast<size_t>(communicator.layout().size()));
  for (size_t i = 0; i < gradients.dense.size(); ++i) gradients.dense[i] = key.Uniform(i) - 0.5f;
  gradients.sparse = rows;
  for (SparseRows& table : gradients.sparse) {
    for (size_t i = 0; i < table.values.size(); ++i) table.values[i] += key.Uniform(i) - 0.5f;
  }
  ASSERT_TRUE(communicator.Push(0, gradients).ok());
}

void TrainSteps(Communicator& communicator, int64_t first, int64_t last) {
  for (int64_t step = first; step <= last; ++step) TrainStep(communicator, step);
}

// Everything that can be read of a model, as one vector.
std::vector<float> Everything(LocalCommunicator& local) {
  std::vector<float> all;
  for (const ParameterSpec& spec : local.spec().parameters) {
    const Tensor tensor = *local.ReadParameter(spec.name);
    all.insert(all.end(), tensor.data.begin(), tensor.data.end());
  }
  for (size_t t = 0; t < local.spec().tables.size(); ++t) {
    for (int shard = 0; shard < kVirtualShards; ++shard) {
      local.table(static_cast<int>(t)).ForEachRow(shard, RowOrder::kAscendingId, [&](auto& row) {
        all.push_back(static_cast<float>(row.id));
        all.insert(all.end(), row.weights.begin(), row.weights.end());
        all.insert(all.end(), row.state.begin(), row.state.end());
        all.push_back(static_cast<float>(row.meta.pushes));
        all.push_back(static_cast<float>(row.meta.last_step));
      });
    }
  }
  return all;
}

Status Save(LocalCommunicator& local, const std::string& dir, const SaveContents& contents = {},
            const Sections& sections = {}) {
  FL_ASSIGN_OR_RETURN(const auto save, local.BeginSave(contents));
  return save->Write(dir, sections);
}

std::string LoadError(const ModelSpec& spec, const std::string& dir, const LoadOptions& options) {
  auto local = MakeToSave(spec);
  const std::vector<float> before = Everything(*local);
  const Status status = local->Load(dir, options).status();
  EXPECT_EQ(Everything(*local), before) << "an error changes nothing";
  return std::string(Message(status));
}

TEST(LocalCheckpointTest, TrainingGoesOnBitForBit) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto whole = MakeToSave(SavedSpec());
  TrainSteps(*whole, 1, 10);
  auto first = MakeToSave(SavedSpec());
  TrainSteps(*first, 1, 4);
  const Status saved = Save(*first, dir, {}, {{"position", "4"}});
  ASSERT_TRUE(saved.ok()) << saved;
  // Made with another seed: the saved seed counts, also for later rows.
  ModelSpec spec = SavedSpec();
  spec.seed = 77;
  auto second = MakeToSave(spec);
  const auto loaded = second->Load(dir, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->step, 4);
  EXPECT_EQ(loaded->seed, 4u);
  EXPECT_EQ(loaded->sections, (Sections{{"position", "4"}}));
  EXPECT_EQ(second->global_step(), 4);
  EXPECT_EQ(second->spec().seed, 4u);
  EXPECT_EQ(second->learning_rate(), first->learning_rate());
  EXPECT_EQ(Everything(*second), Everything(*first));
  TrainSteps(*second, 5, 10);
  EXPECT_EQ(Everything(*second), Everything(*whole));
}

TEST(LocalCheckpointTest, ASaveIsOfTheMomentItBeganWhileTrainingGoesOn) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 30);
  const std::vector<float> then = Everything(*local);
  auto save = local->BeginSave({});
  ASSERT_TRUE(save.ok());
  EXPECT_EQ((*save)->global_step(), 30);
  EXPECT_EQ(local->BeginSave({}).status().code(), absl::StatusCode::kFailedPrecondition);
  std::thread writer([&] {
    const Status status = (*save)->Write(dir, {});
    EXPECT_TRUE(status.ok()) << status;
  });
  TrainSteps(*local, 31, 60);
  writer.join();
  EXPECT_FALSE((*save)->Write(dir, {}).ok()) << "once";
  save->reset();
  auto loaded = MakeToSave(SavedSpec());
  ASSERT_TRUE(loaded->Load(dir, {}).ok());
  EXPECT_EQ(Everything(*loaded), then);
  EXPECT_EQ(loaded->global_step(), 30);
  EXPECT_TRUE(local->BeginSave({}).ok()) << "the cut has ended";
}

TEST(LocalCheckpointTest, SavesBesideFreeWorkersLoad) {
  TempDir temp;
  auto local = MakeToSave(SavedSpec(), /*joined=*/false);
  std::atomic<bool> stop = false;
  std::vector<std::thread> workers;
  for (int w = 0; w < 2; ++w) {
    workers.emplace_back([&, w] {
      for (int64_t step = w; !stop; step += 2) TrainStep(*local, step);
    });
  }
  for (int i = 0; i < 5; ++i) {
    const Status saved = Save(*local, temp.path() + "/model");
    EXPECT_TRUE(saved.ok()) << saved;
    auto loaded = MakeToSave(SavedSpec());
    EXPECT_TRUE(loaded->Load(temp.path() + "/model", {}).ok());
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

TEST(LocalCheckpointTest, AnInferenceModelHasOnlyTheWeightsThatWereNamed) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 5);
  ASSERT_TRUE(Save(*local, dir, {.optimizer_state = false, .names = {{"emb", "w", "mean"}}}).ok());
  const auto manifest = ReadManifest(dir);
  ASSERT_TRUE(manifest.ok());
  EXPECT_EQ(manifest->parameters.size(), 2u);
  ASSERT_EQ(manifest->tables.size(), 1u);
  EXPECT_EQ(manifest->tables[0].states, 0);
  EXPECT_FALSE(manifest->tables[0].meta);
  EXPECT_THAT(LoadError(SavedSpec(), dir, {.allow_missing = true}),
              HasSubstr("saved for inference, without optimizer state"));
  EXPECT_THAT(LoadError(SavedSpec(), dir, {.optimizer_state = false}),
              HasSubstr("missing there: frozen, fixed"));
  auto loaded = MakeToSave(SavedSpec(Sgd(0.1)));
  const auto result = loaded->Load(dir, {.allow_missing = true, .optimizer_state = false});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->missing, ElementsAre("frozen", "fixed"));
  EXPECT_EQ(loaded->global_step(), 0);
  EXPECT_EQ(result->step, 5);
  for (const char* name : {"w", "mean", "emb"}) {
    EXPECT_EQ(loaded->ReadParameter(name)->data, local->ReadParameter(name)->data);
  }
  EXPECT_EQ(Message(local->BeginSave({.names = {{"emb", "x", "y"}}}).status()),
            "save: the model has no parameter or table x, y");
}

// A model as GEO saves it: without the state, which its trainers keep.
TEST(LocalCheckpointTest, AModelWithoutStateThatIsNotForInferenceLoadsWithAFreshOptimizer) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 5);
  ASSERT_TRUE(Save(*local, dir, {.optimizer_state = false}).ok());
  // The manifest has no inference flag in models of GEO, and in those of earlier versions.
  auto manifest = ReadManifest(dir);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE(manifest->info.inference);
  manifest->info.inference = false;
  temp.Write("model/manifest.json", *manifest->ToText());
  auto loaded = MakeToSave(SavedSpec());
  const auto result = loaded->Load(dir, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->fresh_optimizer);
  EXPECT_EQ(loaded->global_step(), 0);
  EXPECT_EQ(loaded->ReadParameter("w")->data, local->ReadParameter("w")->data);
  EXPECT_EQ(loaded->ReadParameter("emb")->data, local->ReadParameter("emb")->data);
  auto asked = MakeToSave(SavedSpec());
  EXPECT_FALSE(asked->Load(dir, {.optimizer_state = false})->fresh_optimizer);
}

TEST(LocalCheckpointTest, WhatDoesNotFitIsListedInOneError) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 2);
  ASSERT_TRUE(Save(*local, dir).ok());
  ModelSpec spec = SavedSpec();
  spec.parameters[0].shape = {30, 20};
  spec.parameters[1].name = "variance";
  spec.tables[0].dim = 3;
  spec.tables[1].rows = 49;
  EXPECT_EQ(LoadError(spec, dir, {}),
            fmt::format("load {}: it does not fit this model: missing there: variance; not in this "
                        "model: mean; of another shape: w: (20, 30) there, (30, 20) here, emb: dim "
                        "2 there, 3 here, fixed: ids below 50 there, ids below 49 here",
                        dir));
  EXPECT_THAT(LoadError(spec, dir, {.allow_missing = true}),
              HasSubstr("it does not fit this model: of another shape: w:"));
  spec = SavedSpec();
  spec.parameters[0].name = "fixed";
  spec.tables[1].name = "w";
  EXPECT_THAT(LoadError(spec, dir, {}),
              HasSubstr("of another shape: fixed: a table there, dense here, w: dense there, a "
                        "table here"));
}

TEST(LocalCheckpointTest, AllowMissingKeepsFirstValuesAndLeavesOutTheRest) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 2);
  ASSERT_TRUE(Save(*local, dir).ok());
  ModelSpec spec = SavedSpec();
  spec.parameters[0].name = "other";
  auto loaded = MakeToSave(spec);
  const auto first = loaded->ReadParameter("other")->data;
  const auto result = loaded->Load(dir, {.allow_missing = true});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->missing, ElementsAre("other"));
  EXPECT_THAT(result->left_out, ElementsAre("w"));
  EXPECT_EQ(loaded->ReadParameter("other")->data, first);
  EXPECT_EQ(loaded->ReadParameter("emb")->data, local->ReadParameter("emb")->data);
}

TEST(LocalCheckpointTest, TheStateOfAnotherOptimizerIsRefusedUnlessItIsLeftOut) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 2);
  ASSERT_TRUE(Save(*local, dir).ok());
  EXPECT_THAT(LoadError(SavedSpec(Sgd(0.1)), dir, {}),
              HasSubstr("the optimizer state was saved by adam (beta1=0.9, beta2=0.999, "
                        "epsilon=1e-08), this model uses sgd"));
  auto loaded = MakeToSave(SavedSpec(Sgd(0.1)));
  ASSERT_TRUE(loaded->Load(dir, {.optimizer_state = false}).ok());
  EXPECT_EQ(loaded->ReadParameter("w")->data, local->ReadParameter("w")->data);
  EXPECT_EQ(loaded->global_step(), 0);
}

TEST(LocalCheckpointTest, AnotherModelIsNamedBeforeItsOptimizer) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 2);
  auto save = local->BeginSave({});
  ASSERT_TRUE(save.ok()) << save.status();
  ASSERT_TRUE((*save)->Write(dir, {{kModelNameSection, "ffm"}}).ok());
  ModelSpec other = SavedSpec(Sgd(0.1));
  for (ParameterSpec& parameter : other.parameters) {
    if (parameter.name == "w") parameter.name = "other";
  }
  const std::string error = LoadError(other, dir, {});
  EXPECT_THAT(error,
              HasSubstr("it holds ffm, which does not fit this model: missing there: other"));
  EXPECT_THAT(error, HasSubstr("not in this model: w"));
}

TEST(LocalCheckpointTest, ATableThatIsFrozenNowLoadsWithoutItsState) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 2);
  ASSERT_TRUE(Save(*local, dir).ok());
  ModelSpec spec = SavedSpec();
  spec.tables[0].attributes.trainable = false;
  spec.parameters[0].attributes.trainable = false;
  auto frozen = MakeToSave(spec);
  const auto result = frozen->Load(dir, {});
  ASSERT_TRUE(result.ok()) << result.status();
  for (const char* name : {"w", "emb"}) {
    EXPECT_EQ(frozen->ReadParameter(name)->data, local->ReadParameter(name)->data);
  }
  // In the other direction there is no state to continue with.
  ASSERT_TRUE(Save(*frozen, dir).ok());
  EXPECT_THAT(LoadError(SavedSpec(), dir, {}), HasSubstr("w: 0 states per weight there, 2 here"));
}

TEST(LocalCheckpointTest, TablesThatHaveRowsAreNotLoadedInto) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 1);
  ASSERT_TRUE(Save(*local, dir).ok());
  EXPECT_THAT(std::string(Message(local->Load(dir, {}).status())),
              HasSubstr("table emb already has 20 rows"));
}

// A save that fails stops neither training nor the next save.
TEST(LocalCheckpointTest, WithoutRoomTheOldModelStaysAndTrainingGoesOn) {
  TempDir temp;
  const std::string dir = temp.path() + "/model";
  auto local = MakeToSave(SavedSpec());
  TrainSteps(*local, 1, 3);
  ASSERT_TRUE(Save(*local, dir).ok());
  TrainSteps(*local, 4, 6);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 2'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status failed = Save(*local, dir);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(failed.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(failed)),
              HasSubstr("/model.saving/dense.part-0.safetensors: cannot write at"));
  auto old = MakeToSave(SavedSpec());
  ASSERT_TRUE(old->Load(dir, {}).ok());
  EXPECT_EQ(old->global_step(), 3);
  TrainSteps(*local, 7, 8);
  ASSERT_TRUE(Save(*local, dir).ok());
  auto now = MakeToSave(SavedSpec());
  ASSERT_TRUE(now->Load(dir, {}).ok());
  EXPECT_EQ(Everything(*now), Everything(*local));
}

}  // namespace
}  // namespace flotilla
