// A small click model that is trained for some steps and can be saved, with the scores that the
// training step itself computes. For test programs only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/graph/layers.h"
#include "flotilla/graph/step.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/kernels/denormals.h"
#include "flotilla/optim/adam.h"

namespace flotilla {

// Rows of the model's inputs; clicks depend on the ids. Ids are below `ids`.
inline Batch ClickRows(int64_t rows, uint64_t seed, uint64_t ids = 50) {
  const RngKey key = RngKey(seed).With("rows");
  Batch batch{.rows = rows};
  batch.fields.resize(4);  // user, words, x, label
  batch.fields[1].ids.offsets.push_back(0);
  for (int64_t i = 0; i < rows; ++i) {
    const RngKey row = key.With(i);
    const uint64_t user = row.Below(0, ids);
    batch.fields[0].ids.ids.push_back(user);
    for (uint64_t k = row.Below(1, 4); k > 0; --k) {
      batch.fields[1].ids.ids.push_back(row.Below(k + 1, ids));
    }
    batch.fields[1].ids.offsets.push_back(static_cast<uint32_t>(batch.fields[1].ids.ids.size()));
    for (int k = 0; k < 3; ++k) batch.fields[2].values.push_back(row.Uniform(10 + k) - 0.5f);
    batch.fields[3].values.push_back(row.Uniform(20) < (user % 3 == 0 ? 0.8f : 0.2f) ? 1 : 0);
  }
  return batch;
}

inline std::unique_ptr<InMemoryDataset> ClickDataset(Batch rows, int64_t batch_size) {
  const std::vector<InputSpec> inputs = {{.name = "user", .kind = InputKind::kIds},
                                         {.name = "words", .kind = InputKind::kIds},
                                         {.name = "x", .kind = InputKind::kDense, .width = 3},
                                         {.name = "label", .kind = InputKind::kLabel}};
  auto dataset = InMemoryDataset::FromRows(inputs, std::move(rows), {.batch_size = batch_size});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

class TrainedModel {
 public:
  explicit TrainedModel(uint64_t seed = 7, int steps = 10) : seed_(seed) {
    Build();
    auto made = LocalCommunicator::Make({.parameters = sections.graph.def().parameters,
                                         .tables = sections.graph.def().tables,
                                         .optimizer = Adam(0.01),
                                         .seed = seed_},
                                        {.save = {.sync = false}});
    EXPECT_TRUE(made.ok()) << made.status();
    communicator = *std::move(made);
    for (int step = 0; step < steps; ++step) Train(ClickRows(64, 100 + step));
  }

  // Writes the whole model, or only the part that inference needs.
  void Save(const std::string& dir, bool pruned = false) {
    const ModelSections small = PruneForInference(sections);
    const ModelSections& saved = pruned ? small : sections;
    SaveContents contents{.optimizer_state = !pruned, .names = std::vector<std::string>()};
    for (const ParameterSpec& spec : saved.graph.def().parameters) {
      contents.names->push_back(spec.name);
    }
    for (const TableSpec& spec : saved.graph.def().tables) contents.names->push_back(spec.name);
    Sections texts = *ToSections(saved);
    texts.insert(more_sections.begin(), more_sections.end());
    auto save = communicator->BeginSave(contents);
    ASSERT_TRUE(save.ok()) << save.status();
    const Status written = (*save)->Write(dir, texts);
    ASSERT_TRUE(written.ok()) << written;
  }

  // The prediction, (rows, 2), computed by the training step's forward pass in inference mode.
  std::vector<float> Forward(const Batch& batch) {
    const kernels::FlushDenormals flush;
    auto plan = Plan::Make(sections.graph.def(),
                           {.loss = -1, .fetches = {sections.predict, sections.loss}});
    EXPECT_TRUE(plan.ok()) << plan.status();
    Step step(plan->get(), {.seed = seed_, .training = false});
    Run(step, batch, Missing::kDefault, nullptr);
    const std::span<const float> values = step.fetched(0).values;
    return {values.begin(), values.end()};
  }

  // Without the format of the rows, which are generated directly.
  ModelSections sections;
  Sections more_sections;  // additional sections to save
  std::unique_ptr<LocalCommunicator> communicator;

 private:
  // Two heads: the prediction, and a price that only the loss reads, with a separate table.
  void Build() {
    Graph& g = sections.graph;
    const Var user = g.Ids("user");
    const Var words = g.Ids("words");
    const Var x = g.Dense("x", 3);
    const Var label = g.Label("label");
    const InitializerSpec init = Uniform(-0.5, 0.5);
    const Var a = Embedding(user, {.table = "users", .dim = 4, .init = init});
    const Var b = Embedding(words, {.table = "words", .dim = 5, .rows = 60, .init = init});
    const Var price = Fc(Embedding(user, {.table = "prices", .dim = 2, .init = init}), 1, nullptr,
                         {.name = "price"});
    Var h = Fc(Concat({a, b, x}), 17, Relu, {.name = "hidden"});
    h = BatchNorm(Dropout(h, 0.5));
    const Var predict = Fc(h, 2, Softmax, {.name = "out"});
    const Var loss = ReduceSum(CrossEntropy(predict, label)) + ReduceSum(Square(price));
    EXPECT_TRUE(g.status().ok()) << g.status();
    sections.predict = predict.index();
    sections.loss = loss.index();
    sections.metrics = {Auc(predict, label), LogLossMetric(predict, label),
                        Accuracy(predict, label), MeanMetric(loss, "loss")};
  }

  void Run(Step& step, const Batch& batch, Missing missing, Gradients* gradients) {
    ASSERT_TRUE(step.Prepare(BatchSlice(batch)).ok());
    ASSERT_TRUE(communicator->Pull(0, missing, step.rows()).ok());
    const Status status = step.Run(communicator->dense(), gradients);
    ASSERT_TRUE(status.ok()) << status;
  }

  void Train(const Batch& batch) {
    auto plan = Plan::Make(sections.graph.def(), {.loss = sections.loss, .fetches = {}});
    ASSERT_TRUE(plan.ok()) << plan.status();
    Step step(plan->get(), {.seed = seed_});
    Gradients gradients;
    Run(step, batch, Missing::kCreate, &gradients);
    ASSERT_TRUE(communicator->Push(0, gradients).ok());
  }

  const uint64_t seed_;
};

}  // namespace flotilla
