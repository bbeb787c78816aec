#include "flotilla/run/mean_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/models/mean_model.h"
#include "flotilla/run/compare_models.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {
namespace {

// Rows with two categories, a bag and a number; the label depends on the categories.
Features MeanFeatures(LabelTask task) {
  Features features;
  features.features = {{.input = "a", .vocabulary = "a"},
                       {.input = "b", .vocabulary = "b"},
                       {.input = "x", .kind = Feature::Kind::kNumber},
                       {.input = "bag", .kind = Feature::Kind::kBag, .vocabulary = "bag"}};
  features.labels = {{.input = "y",
                      .task = task,
                      .classes = task == LabelTask::kClasses ? 3 : 2,
                      .mean = task == LabelTask::kClasses ? 0 : 0.4}};
  return features;
}

std::unique_ptr<InMemoryDataset> MeanRows(std::span<const InputSpec> inputs, LabelTask task) {
  Batch batch{.fields = std::vector<Field>(inputs.size())};
  const RngKey key = RngKey(3).With("mean");
  for (int64_t row = 0; row < 600; ++row) {
    const uint64_t a = key.Below(4 * row, 7), b = key.Below(4 * row + 1, 5);
    for (size_t f = 0; f < inputs.size(); ++f) {
      Field& field = batch.fields[f];
      if (inputs[f].name == "a") field.ids.ids.push_back(a);
      if (inputs[f].name == "b") field.ids.ids.push_back(100 + b);
      if (inputs[f].name == "x") field.values.push_back(key.Uniform(4 * row + 2));
      if (inputs[f].name == "bag") {
        if (field.ids.offsets.empty()) field.ids.offsets.push_back(0);
        for (uint64_t i = 0; i < a % 3; ++i) field.ids.ids.push_back(200 + b + i);
        field.ids.offsets.push_back(static_cast<uint32_t>(field.ids.ids.size()));
      }
      if (inputs[f].name == "y") {
        const uint64_t value = task == LabelTask::kClasses ? (a + b) % 3 : (a * b) % 2;
        field.values.push_back(static_cast<float>(value));
      }
    }
    ++batch.rows;
  }
  auto rows = InMemoryDataset::FromRows({inputs.begin(), inputs.end()}, batch, {.batch_size = 50});
  EXPECT_TRUE(rows.ok()) << rows.status();
  return *std::move(rows);
}

// A model with its parameters.
struct Trained {
  explicit Trained(Model made) : model(std::move(made)) {
    EXPECT_TRUE(model.graph.status().ok()) << model.graph.status();
    parameters = *LocalCommunicator::Make(SpecOf(model, 5), {});
    trainer = *Trainer::Make(&model, parameters.get(), &clock, {});
  }

  std::vector<float> Predict(Dataset& rows) {
    std::vector<float> predictions;
    EXPECT_TRUE(trainer->Evaluate(rows, &predictions).ok());
    return predictions;
  }

  Model model;
  SteadyClock clock;
  std::unique_ptr<LocalCommunicator> parameters;
  std::unique_ptr<Trainer> trainer;
};

TEST(MeanModelTest, PredictsTheMeanOfItsPartsForEveryTask) {
  for (const LabelTask task : {LabelTask::kClick, LabelTask::kRegression, LabelTask::kClasses}) {
    const Features features = MeanFeatures(task);
    const std::vector<MeanPart> parts = {
        {.model = FindZooModel(task == LabelTask::kClasses ? "lr" : "ffm")},
        {.model = FindZooModel("wide_deep")}};
    StatusOr<Model> made = MakeMeanModel(parts, features);
    ASSERT_TRUE(made.ok()) << made.status();
    Trained mean(*std::move(made));
    const auto rows = MeanRows(mean.model.graph.def().inputs, task);
    std::vector<std::vector<float>> predictions;
    for (const MeanPart& part : parts) {
      Trained alone(*MakeZooModel(*part.model, features, part.config));
      ASSERT_EQ(alone.model.graph.def().inputs, mean.model.graph.def().inputs);
      ASSERT_TRUE(alone.trainer->Fit(*rows, 2).ok());
      predictions.push_back(alone.Predict(*rows));
      const Status copied = CopyParameters(*alone.parameters, ScopeOf(part), mean.parameters.get());
      ASSERT_TRUE(copied.ok()) << copied;
    }
    const LabelledRows labelled = LabelledRows::Of(*rows, features.labels[0]);
    const std::vector<float> expected = MeanPrediction(labelled, predictions[0], predictions[1]);
    const std::vector<float> combined = mean.Predict(*rows);
    ASSERT_EQ(combined.size(), expected.size());
    for (size_t i = 0; i < combined.size(); ++i) EXPECT_NEAR(combined[i], expected[i], 1e-5);
    EXPECT_NE(predictions[0], predictions[1]);
  }
}

TEST(MeanModelTest, EveryParameterBelongsToAPartButTheBias) {
  const Features features = MeanFeatures(LabelTask::kClick);
  const std::vector<MeanPart> parts = {{.model = FindZooModel("lr")},
                                       {.model = FindZooModel("deepfm")}};
  const Model mean = *MakeMeanModel(parts, features);
  const GraphDef& graph = mean.graph.def();
  size_t parameters = 1, tables = 0;
  EXPECT_GE(graph.FindParameter("output.b_0"), 0);
  for (const MeanPart& part : parts) {
    const Model alone = *MakeZooModel(*part.model, features, part.config);
    for (const ParameterSpec& spec : alone.graph.def().parameters) {
      EXPECT_GE(graph.FindParameter(ScopeOf(part) + spec.name), 0) << spec.name;
      ++parameters;
    }
    for (const TableSpec& spec : alone.graph.def().tables) {
      EXPECT_GE(graph.FindTable(ScopeOf(part) + spec.name), 0) << spec.name;
      ++tables;
    }
  }
  EXPECT_EQ(graph.parameters.size(), parameters);
  EXPECT_EQ(graph.tables.size(), tables);
  EXPECT_EQ(mean.metrics[0].name, "auc");
}

TEST(MeanModelTest, CopyingIntoAnotherModelIsAnError) {
  const Features features = MeanFeatures(LabelTask::kClick);
  const std::vector<MeanPart> parts = {{.model = FindZooModel("lr")}};
  Trained mean(*MakeMeanModel(parts, features));
  Trained other(*MakeZooModel(*FindZooModel("wide_deep"), features, Config()));
  EXPECT_FALSE(CopyParameters(*other.parameters, "lr/", mean.parameters.get()).ok());
}

}  // namespace
}  // namespace flotilla
