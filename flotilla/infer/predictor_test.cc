#include "flotilla/infer/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/infer/trained_model_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string LoadError(const std::string& dir) {
  const auto predictor = Predictor::Load(dir);
  return predictor.ok() ? "ok" : std::string(Message(predictor.status()));
}

class PredictorTest : public ::testing::Test {
 protected:
  PredictorTest() { model_.Save(path_); }

  std::unique_ptr<Predictor> Load(const PredictorOptions& options = {}) const {
    auto predictor = Predictor::Load(path_, options);
    EXPECT_TRUE(predictor.ok()) << predictor.status();
    return *std::move(predictor);
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() + "/model";
  TrainedModel model_;
};

// 700 rows are computed in three blocks; a third of the ids was never trained.
TEST_F(PredictorTest, ScoresEqualTheTrainingStepsForwardPassBitForBit) {
  for (const bool pruned : {false, true}) {
    model_.Save(path_, pruned);
    for (const bool with_metrics : {false, true}) {
      const auto predictor = Load({.with_metrics = with_metrics});
      for (const int64_t rows : {1, 5, 64, 700}) {
        const Batch batch = ClickRows(rows, 5, 59);
        const std::vector<float> expected = model_.Forward(batch);
        std::vector<float> columns, scores;
        ASSERT_TRUE(predictor->PredictColumns(batch, &columns).ok());
        EXPECT_EQ(columns, expected) << rows << " rows";
        ASSERT_TRUE(predictor->Predict(batch, &scores).ok());
        ASSERT_EQ(static_cast<int64_t>(scores.size()), rows);
        for (int64_t i = 0; i < rows; ++i) EXPECT_EQ(scores[i], expected[2 * i + 1]);
      }
    }
  }
}

TEST_F(PredictorTest, UnknownIdsGetTheirFirstValueAndMakeNoRow) {
  const auto predictor = Load();
  Batch batch = ClickRows(3, 5);
  for (uint64_t& id : batch.fields[0].ids.ids) id += 1'000'000'000'000;
  const int64_t rows = predictor->table_rows();
  EXPECT_EQ(rows, model_.communicator->table(0).size() + model_.communicator->table(1).size());
  std::vector<float> once, twice;
  ASSERT_TRUE(predictor->PredictColumns(batch, &once).ok());
  ASSERT_TRUE(predictor->PredictColumns(batch, &twice).ok());
  EXPECT_EQ(once, model_.Forward(batch));
  EXPECT_EQ(once, twice);
  EXPECT_EQ(predictor->table_rows(), rows);
}

TEST_F(PredictorTest, ParsesLinesThatWereMadeAsInTraining) {
  const auto error = [&](const std::string& command) {
    const auto parser = Load()->MakeRowParser(command);
    return parser.ok() ? "ok" : std::string(Message(parser.status()));
  };
  EXPECT_THAT(error(""), HasSubstr("does not include the format of its rows"));
  model_.sections.format = {.format = "multislot"};
  model_.Save(path_);  // like earlier versions: without the pipe command
  EXPECT_EQ(error(""), "ok");
  EXPECT_EQ(error("cat"), "ok");
  model_.sections.format.pipe_command = "";
  model_.Save(path_);
  EXPECT_EQ(error(""), "ok");
  EXPECT_THAT(error("cat"),
              HasSubstr("no pipe command, these come through the pipe command 'cat'"));
  model_.sections.format.pipe_command = "cat";
  model_.Save(path_);
  EXPECT_EQ(error("cat"), "ok");
  EXPECT_THAT(error(""), HasSubstr("the pipe command 'cat', these come through no pipe command"));
}

TEST_F(PredictorTest, TellsWhatTheModelReadsAndHowItIsJudged) {
  const auto predictor = Load({.with_metrics = true});
  ASSERT_EQ(predictor->inputs().size(), 4);
  EXPECT_EQ(predictor->inputs()[2], (InputSpec{"x", InputKind::kDense, 3}));
  EXPECT_EQ(predictor->metrics()[0].name, "auc");
  EXPECT_EQ(predictor->columns(), 2);
  EXPECT_EQ(predictor->format(), ParserSpec{});
  EXPECT_EQ(predictor->manifest().info.step, 10);
  EXPECT_EQ(predictor->dir(), path_);
  EXPECT_EQ(Load()->fetches().size(), 1);
  EXPECT_EQ(predictor->fetches().size(), 3) << "predict, label, loss";
}

TEST_F(PredictorTest, AnyNumberOfThreadsPredictsAtOnce) {
  const auto predictor = Load();
  std::vector<Batch> batches;
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < 8; ++i) {
    batches.push_back(ClickRows(1 + 40 * i, i));
    expected.push_back(model_.Forward(batches.back()));
  }
  WorkerPool workers(4);
  workers.Run([&](int w) {
    std::vector<float> scores;
    for (int i = 0; i < 200; ++i) {
      const size_t k = (w + i) % batches.size();
      EXPECT_TRUE(predictor->PredictColumns(batches[k], &scores).ok());
      EXPECT_EQ(scores, expected[k]);
    }
  });
}

TEST_F(PredictorTest, BatchesThatDoNotFitAreErrorsAndTheNextOneIsFine) {
  const auto predictor = Load();
  const auto error = [&](const Batch& batch) {
    std::vector<float> scores;
    return std::string(Message(predictor->Predict(batch, &scores)));
  };
  EXPECT_THAT(error(Batch{}), HasSubstr("without rows"));
  Batch narrow = ClickRows(4, 1);
  narrow.fields[2].values.pop_back();
  EXPECT_THAT(error(narrow), HasSubstr("x"));
  Batch few = ClickRows(4, 1);
  few.fields.pop_back();
  EXPECT_NE(error(few), "");
  Batch beyond = ClickRows(4, 1);
  beyond.fields[1].ids.ids = {60};
  beyond.fields[1].ids.offsets = {0, 1, 1, 1, 1};
  EXPECT_THAT(error(beyond), HasSubstr("table words: id 60 is not below its 60 rows"));
  EXPECT_EQ(error(ClickRows(4, 1)), "");
}

TEST_F(PredictorTest, ADirectoryOfModelsMeansItsLatest) {
  const std::string out = dir_.path() + "/out";
  std::filesystem::create_directory(out);
  model_.Save(out + "/epoch_0");
  TrainedModel(8).Save(out + "/epoch_1");
  std::filesystem::create_directory_symlink("epoch_1", out + "/latest");
  const auto predictor = Predictor::Load(out);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  EXPECT_EQ((*predictor)->manifest().info.seed, 8);
  EXPECT_EQ((*predictor)->dir(), out + "/latest");
}

TEST_F(PredictorTest, WhatIsNoModelIsNotFound) {
  EXPECT_EQ(Predictor::Load("/no/such/model").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(LoadError("/no/such/model"), HasSubstr("/no/such/model"));
  EXPECT_EQ(Predictor::Load(dir_.path()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PredictorTest, ADamagedFileIsDataLossThatNamesIt) {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    if (entry.path().extension() != ".safetensors") continue;
    model_.Save(path_);
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<long>(std::filesystem::file_size(entry.path())) - 3);
    file.put('\x7f').flush();
    EXPECT_EQ(Predictor::Load(path_).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(LoadError(path_), HasSubstr(entry.path().filename().string()));
  }
}

TEST_F(PredictorTest, AModelWithoutItsSectionsIsRefused) {
  auto save = model_.communicator->BeginSave({});
  ASSERT_TRUE(save.ok()) << save.status();
  ASSERT_TRUE((*save)->Write(path_, {}).ok());
  EXPECT_THAT(LoadError(path_), StartsWith(path_ + ": section graph is missing"));
}

TEST_F(PredictorTest, AGraphThatDoesNotFitItsTensorsIsRefused) {
  const auto save_with = [&](const TrainedModel& other) {
    auto save = model_.communicator->BeginSave({});
    ASSERT_TRUE(save.ok()) << save.status();
    ASSERT_TRUE((*save)->Write(path_, *ToSections(other.sections)).ok());
  };
  TrainedModel wide;
  GraphDef* graph = wide.sections.graph.mutable_def();
  graph->tables[0].name = "people";
  save_with(wide);
  EXPECT_THAT(LoadError(path_), StartsWith(path_ + ": table people is missing"));
  graph->tables[0].name = "users";
  graph->parameters[0].name += "x";
  for (VarDef& var : graph->vars) {
    if (var.parameter == 0) var.name += "x";
  }
  save_with(wide);
  EXPECT_THAT(LoadError(path_), HasSubstr("is missing"));
}

}  // namespace
}  // namespace flotilla
