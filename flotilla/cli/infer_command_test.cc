// `flotilla infer` on models that `flotilla train` made.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "flotilla/cli/trained_files_testing.h"
#include "flotilla/infer/predictor.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class InferCommandTest : public TrainedFilesTest {
 protected:
  static ProgramRun Infer(std::vector<std::string> args) {
    args.insert(args.begin(), "infer");
    return RunForTest(args);
  }

  // The results of the latest model on the test rows.
  static json InferJson(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {files_->out, "--data",       files_->test,
                                     "--json",    "--batch_size", "100"};
    args.insert(args.end(), more.begin(), more.end());
    const ProgramRun run = Infer(args);
    EXPECT_EQ(run.code, 0) << run.err;
    return run.code == 0 ? json::parse(run.out) : json();
  }

  std::vector<float> Predictions(std::vector<std::string> more = {}) const {
    const std::string path = dir_.path() + "/scores";
    more.insert(more.end(), {"--predictions", path});
    InferJson(more);
    std::vector<float> scores;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      scores.push_back(std::strtof(line.c_str(), nullptr));
    }
    return scores;
  }
};

TEST_F(InferCommandTest, TellsWhatTheLastTestOfTrainingTold) {
  const json result = InferJson();
  EXPECT_EQ(result["auc"], files_->trained["auc"]);
  EXPECT_EQ(result["accuracy"], files_->trained["accuracy"]);
  EXPECT_NEAR(result["logloss"], files_->trained["logloss"], 1e-9);
  EXPECT_EQ(result["examples"], TrainedFiles::kTestRows);
  EXPECT_EQ(result["skipped"], 0);
  EXPECT_EQ(result["step"], files_->trained["steps"]);
  EXPECT_EQ(result["model"], files_->out + "/latest");
  EXPECT_GT(result["calibration"], 0.5);
  EXPECT_LT(result["calibration"], 2.0);
  EXPECT_EQ(result["deciles"].size(), 10);
  EXPECT_NEAR(result["examples_per_second"].get<double>() * result["seconds"].get<double>(),
              TrainedFiles::kTestRows, 1);
}

TEST_F(InferCommandTest, RowsInMemoryAndReadAheadGiveTheSame) {
  const json streamed = InferJson({"--threads", "1"});
  const json memory = InferJson({"--threads", "1", "--in_memory"});
  for (const char* key : {"auc", "logloss", "accuracy", "calibration"}) {
    EXPECT_EQ(streamed[key], memory[key]) << key;
  }
}

TEST_F(InferCommandTest, PredictionsAreThoseBehindTheFigures) {
  const std::vector<float> scores = Predictions({"--threads", "1"});
  ASSERT_EQ(scores.size(), TrainedFiles::kTestRows);
  const json result = InferJson();
  double predicted = 0;
  for (const json& decile : result["deciles"]) predicted += decile["predicted"].get<double>();
  EXPECT_NEAR(std::accumulate(scores.begin(), scores.end(), 0.0), predicted, 1e-6);
  EXPECT_EQ(Predictions({"--threads", "3"}), scores);
  EXPECT_EQ(Predictions({"--in_memory", "--threads", "2"}), scores);
}

// What a server does: the same file of rows, line by line into batches of the same size.
TEST_F(InferCommandTest, ThePredictorGivesTheSameScoresToAServer) {
  const auto predictor = Predictor::Load(files_->out);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  const auto parser = (*predictor)->MakeRowParser();
  ASSERT_TRUE(parser.ok()) << parser.status();
  std::vector<float> served, scores;
  std::ifstream rows(files_->test);
  Batch batch;
  batch.fields.resize((*predictor)->inputs().size());
  for (std::string line; std::getline(rows, line);) {
    ASSERT_TRUE((*parser)->Parse(line, &batch).ok());
    if (batch.rows < 100) continue;
    ASSERT_TRUE((*predictor)->Predict(batch, &scores).ok());
    served.insert(served.end(), scores.begin(), scores.end());
    batch.Clear();
  }
  EXPECT_EQ(served, Predictions());
}

TEST_F(InferCommandTest, ATableForPeopleHasTheFiguresAndTheDeciles) {
  const ProgramRun run = Infer({files_->out + "/epoch_1", "--data", files_->test});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("model         " + files_->out + "/epoch_1, step 120"));
  EXPECT_THAT(run.out, ContainsRegex("\nauc           0\\.[0-9]{4}\n"));
  EXPECT_THAT(run.out, ContainsRegex("\ncalibration   [01]\\.[0-9]{4}\n"));
  EXPECT_THAT(run.out, ContainsRegex("\n10 +[0-9]+ "));
}

TEST_F(InferCommandTest, SeveralModelsPrintALineEach) {
  const std::string first = files_->out + "/epoch_0", second = files_->out + "/epoch_1";
  const ProgramRun run = Infer({first, second, "--data", files_->test});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("^" + first + ": auc=0\\.[0-9]+ logloss=.*\n" + second +
                                     ": auc=0\\.[^\n]*\n$"));
  const ProgramRun lines = Infer({first, second, "--data", files_->test, "--json"});
  ASSERT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 2);
  const size_t end = lines.out.find('\n');
  EXPECT_EQ(json::parse(lines.out.substr(0, end))["step"], 60);
  EXPECT_EQ(json::parse(lines.out.substr(end))["auc"], files_->trained["auc"]);
}

TEST_F(InferCommandTest, WhatIsNoModelIsAFailureThatNamesIt) {
  const ProgramRun nothing = Infer({"/no/such/model", "--data", files_->test});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("/no/such/model"));
  const ProgramRun other = Infer({dir_.path(), "--data", files_->test});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr(dir_.path()));
}

TEST_F(InferCommandTest, ADamagedModelIsRefused) {
  const fs::path copy = fs::path(dir_.path()) / "copy";
  fs::copy(files_->out + "/epoch_1", copy);
  for (const auto& entry : fs::directory_iterator(copy)) {
    if (entry.path().extension() != ".safetensors") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(1000);
    const char byte = static_cast<char>(file.get());
    file.seekp(1000).put(static_cast<char>(~byte));
    file.close();
    const ProgramRun run = Infer({copy.string(), "--data", files_->test});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr(entry.path().filename().string()));
    return;
  }
  FAIL() << "no tensors in " << copy;
}

TEST_F(InferCommandTest, RowsThatAreNotTheModelsAreNamedWithTheirPlace) {
  const auto error = [&](const std::string& rows, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {files_->out, "--data", dir_.Write("rows", rows)});
    const ProgramRun run = Infer(more);
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  const std::string row = TrainedFiles::Rows(0, 1);
  EXPECT_THAT(error("1 2 3\n"), HasSubstr("rows:1:"));
  EXPECT_THAT(error(row.substr(1)), HasSubstr("label"));  // the label is empty
  EXPECT_THAT(error(row, {"--format", "libsvm"}), HasSubstr("--format"));
}

// With other parameters the ids would stand for other features, without any error.
TEST_F(InferCommandTest, RowsThatAreMadeOtherwiseThanInTrainingAreRefused) {
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {files_->out, "--data", files_->test});
    const ProgramRun run = Infer(more);
    EXPECT_EQ(run.code, 1);
    return run.err;
  };
  const std::string hash_dim = fmt::to_string(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(error({"--format_param", "hash_dim=1000"}),
              HasSubstr("/model/latest: the model was trained on criteo rows with hash_dim " +
                        hash_dim + ", here it is 1000: give the same, or add --ignore_format"));
  EXPECT_THAT(error({"--numeric", "log"}), HasSubstr("with numeric seeds, here it is log"));
  EXPECT_THAT(error({"--format", "libsvm"}), HasSubstr("of the format criteo, --format is libsvm"));
  EXPECT_THAT(error({"--pipe_command", "cat"}),
              HasSubstr("came through no pipe command: leave out --pipe_command"));
  const json same = InferJson({"--format", "criteo", "--format_param", "hash_dim=" + hash_dim});
  EXPECT_EQ(same["auc"], files_->trained["auc"]);
  const json piped = InferJson({"--pipe_command", "cat", "--ignore_format"});
  EXPECT_EQ(piped["auc"], files_->trained["auc"]);
  const json other = InferJson({"--format_param", "hash_dim=1000", "--ignore_format"});
  EXPECT_NE(other["auc"], files_->trained["auc"]);
}

TEST_F(InferCommandTest, RowsOfAPipeCommandAreScoredThroughItOnly) {
  const std::string model = dir_.path() + "/piped";
  const std::string command = "sed 's/\t/ /g' | tr ' ' '\t'";
  const ProgramRun trained =
      RunForTest({"train", "ctr_dnn", "--data", files_->test, "--layers", "4", "--dim", "2",
                  "--threads", "1", "--out", model, "--pipe_command", command});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const ProgramRun raw = Infer({model, "--data", files_->test});
  EXPECT_EQ(raw.code, 1);
  EXPECT_THAT(raw.err, HasSubstr("came through a pipe command: add --pipe_command "));
  const ProgramRun other = Infer({model, "--data", files_->test, "--pipe_command", "cat"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("--pipe_command is 'cat': give the same"));
  EXPECT_EQ(Infer({model, "--data", files_->test, "--pipe_command", command}).code, 0);
  EXPECT_EQ(Infer({model, "--data", files_->test, "--ignore_format"}).code, 0);
  const auto predictor = Predictor::Load(model);
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  EXPECT_TRUE((*predictor)->MakeRowParser(command).ok());
  EXPECT_THAT(std::string(Message((*predictor)->MakeRowParser().status())),
              HasSubstr("came through the pipe command"));
}

TEST_F(InferCommandTest, BadRowsThatMayBeSkippedAreCountedAndHaveNoPrediction) {
  const std::string rows =
      dir_.Write("rows", TrainedFiles::Rows(0, 5) + "broken\n" + TrainedFiles::Rows(5, 12));
  const std::string scores = dir_.path() + "/scores";
  const ProgramRun run = Infer(
      {files_->out, "--data", rows, "--max_bad_rows", "1", "--json", "--predictions", scores});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["skipped"], 1);
  EXPECT_EQ(json::parse(run.out)["examples"], 12);
  EXPECT_THAT(run.err, HasSubstr("skipped " + rows + ":6:1"));
  std::ifstream file(scores);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(file), {}, '\n'), 12);
}

TEST_F(InferCommandTest, AFailedRunLeavesTheOldPredictionsAsTheyWere) {
  const std::string rows = dir_.Write("rows", TrainedFiles::Rows(0, 250) + "broken\n");
  const std::string scores = dir_.Write("scores", "old\n");
  const ProgramRun run =
      Infer({files_->out, "--data", rows, "--batch_size", "100", "--predictions", scores});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("rows:251:"));
  EXPECT_EQ(ContentOf(scores), "old\n");
  EXPECT_FALSE(fs::exists(scores + ".tmp"));
}

TEST_F(InferCommandTest, PredictionsDoNotReplaceTheRows) {
  const std::string text = TrainedFiles::Rows(0, 50), rows = dir_.Write("own", text);
  const ProgramRun run = Infer({files_->out, "--data", rows, "--predictions", rows});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("this file is read, give the output another name"));
  EXPECT_EQ(ContentOf(rows), text);
}

TEST_F(InferCommandTest, PredictionsGoToStandardOutputAndTheReportToTheOtherStream) {
  const std::vector<float> scores = Predictions();
  for (const char* name : {"-", "/dev/stdout"}) {
    const ProgramRun run =
        Infer({files_->out, "--data", files_->test, "--batch_size", "100", "--predictions", name});
    ASSERT_EQ(run.code, 0) << run.err;
    std::istringstream lines(run.out);
    std::vector<float> printed;
    for (std::string line; std::getline(lines, line);) {
      printed.push_back(std::strtof(line.c_str(), nullptr));
    }
    EXPECT_EQ(printed, scores);
    EXPECT_THAT(run.err, HasSubstr("\nauc "));
  }
  EXPECT_FALSE(fs::exists("-"));
  const ProgramRun both =
      Infer({files_->out, "--data", files_->test, "--predictions", "-", "--json"});
  EXPECT_EQ(both.code, kUsageError);
  EXPECT_THAT(both.err, HasSubstr("--predictions - and --json both write to standard output"));
}

TEST_F(InferCommandTest, FlagsThatDoNotFitAreUsageErrors) {
  const auto error = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"--data", files_->test});
    const ProgramRun run = Infer(args);
    EXPECT_EQ(run.code, 2);
    return run.err;
  };
  EXPECT_THAT(error({files_->out, files_->out, "--predictions", "x"}),
              HasSubstr("--predictions writes the scores of one model, 2 were given"));
  EXPECT_THAT(error({files_->out, "--predictions", "x", "--readers", "2"}),
              HasSubstr("which several --readers do not keep"));
  EXPECT_THAT(error({files_->out, "--thread", "2"}), HasSubstr("did you mean --threads"));
  EXPECT_EQ(Infer({files_->out}).code, 2);
}

TEST_F(InferCommandTest, AFlagOfWordVectorsIsAnErrorThatSaysSo) {
  const ProgramRun run = Infer({files_->out, "--data", files_->test, "--questions", "q"});
  EXPECT_EQ(run.code, kUsageError);
  EXPECT_THAT(run.err, HasSubstr("--questions is for word vectors, and "));
  EXPECT_EQ(Infer({files_->out}).code, kUsageError) << "--data is required";
}

}  // namespace
}  // namespace flotilla
