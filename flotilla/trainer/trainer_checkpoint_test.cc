// Training that is saved, loaded into new objects as in a new process, and continued.
#include <gtest/gtest.h>

#include <cmath>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/adam.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

std::unique_ptr<InMemoryDataset> MakeRows() {
  Batch batch{.rows = 1000, .fields = std::vector<Field>(3)};
  for (int64_t r = 0; r < batch.rows; ++r) {
    const RngKey row = RngKey(5).With(r);
    for (int d = 0; d < 2; ++d) batch.fields[0].values.push_back(row.Uniform(d) - 0.5f);
    batch.fields[1].ids.ids.push_back(row.Below(10, 600));
    batch.fields[2].values.push_back(row.Uniform(20) < 0.3f ? 1 : 0);
  }
  auto dataset = InMemoryDataset::FromRows(
      {{.name = "dense", .width = 2},
       {.name = "C", .kind = InputKind::kIds},
       {.name = "label", .kind = InputKind::kLabel}},
      std::move(batch), {.batch_size = 64, .shuffle_rows = kWholeEpoch, .seed = 1});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

Model MakeModel() {
  Graph g;
  const Var dense = g.Dense("dense", 2);
  const Var ids = Embedding(g.Ids("C"), {.table = "t", .dim = 4, .init = Uniform(-0.1, 0.1)});
  const Var x = BatchNorm(Dropout(Fc(Concat({dense, ids}), 16, Relu), 0.2));
  const Var predict = Fc(x, 2, Softmax);
  const Var loss = ReduceSum(CrossEntropy(predict, g.Label("label")));
  return {.graph = std::move(g), .loss = loss, .optimizer = Adam(1e-2), .metrics = {}};
}

// The objects of one process.
struct Process {
  explicit Process(uint64_t seed, int workers = 2) : model(MakeModel()), dataset(MakeRows()) {
    communicator =
        *LocalCommunicator::Make(SpecOf(model, seed), {.joined = true, .save = {.sync = false}});
    auto made = Trainer::Make(&model, communicator.get(), &clock,
                              {.workers = workers, .seed = 4, .chunk_rows = 32});
    EXPECT_TRUE(made.ok()) << made.status();
    trainer = *std::move(made);
  }

  double Train(int64_t epoch) {
    const auto report = trainer->TrainEpoch(*dataset, epoch);
    EXPECT_TRUE(report.ok()) << report.status();
    return report->loss;
  }

  std::vector<float> Parameters() {
    std::vector<float> all;
    for (const ParameterSpec& spec : model.graph.def().parameters) {
      const Tensor tensor = *communicator->ReadParameter(spec.name);
      all.insert(all.end(), tensor.data.begin(), tensor.data.end());
    }
    const Tensor table = *communicator->ReadParameter("t");
    all.insert(all.end(), table.data.begin(), table.data.end());
    return all;
  }

  Model model;
  SteadyClock clock;
  std::unique_ptr<InMemoryDataset> dataset;
  std::unique_ptr<LocalCommunicator> communicator;
  std::unique_ptr<Trainer> trainer;
};

TEST(TrainerCheckpointTest, TwoEpochsAreOneSavedLoadedAndOneMoreBitForBit) {
  TempDir temp;
  Process whole(3);
  whole.Train(0);
  const double expected = whole.Train(1);

  {
    Process first(3, 1);
    first.Train(0);
    const auto save = first.communicator->BeginSave({});
    ASSERT_TRUE(save.ok()) << save.status();
    const Status written = (*save)->Write(temp.path() + "/model", {});
    ASSERT_TRUE(written.ok()) << written;
  }
  Process second(/*seed=*/99, 3);
  const auto loaded = second.communicator->Load(temp.path() + "/model", {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(second.Train(1), expected);
  EXPECT_EQ(second.Parameters(), whole.Parameters());
  EXPECT_EQ(second.communicator->global_step(), whole.communicator->global_step());
}

TEST(TrainerCheckpointTest, ALoadedModelEvaluatesToTheSameBits) {
  TempDir temp;
  Process trained(3);
  trained.Train(0);
  const auto before = trained.trainer->Evaluate(*trained.dataset);
  const auto save = trained.communicator->BeginSave({.optimizer_state = false});
  ASSERT_TRUE(save.ok() && (*save)->Write(temp.path() + "/model", {}).ok());
  Process other(8);
  ASSERT_TRUE(other.communicator->Load(temp.path() + "/model", {.optimizer_state = false}).ok());
  const auto after = other.trainer->Evaluate(*other.dataset);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after->loss, before->loss);
}

}  // namespace
}  // namespace flotilla
