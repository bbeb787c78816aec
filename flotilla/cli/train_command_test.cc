// `flotilla train` from the command line to its results, on rows that a planted model makes.
#include "flotilla/cli/train_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/cli/trained_files_testing.h"

namespace flotilla {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class TrainCommandTest : public ::testing::Test {
 protected:
  static constexpr int kTrainRows = 8000;
  static constexpr int kTestRows = 2000;

  // Runs a small network; `more` is appended.
  ProgramRun Train(std::vector<std::string> more) const {
    std::vector<std::string> args = {"train",        "ctr_dnn", "--data",    train_,
                                     "--layers",     "32,16",   "--dim",     "4",
                                     "--batch_size", "100",     "--threads", "2"};
    args.insert(args.end(), more.begin(), more.end());
    return RunForTest(args);
  }

  json TrainJson(std::vector<std::string> more) const {
    more.push_back("--json");
    const ProgramRun run = Train(std::move(more));
    EXPECT_EQ(run.code, kSuccess) << run.err;
    return run.code == kSuccess ? json::parse(run.out) : json();
  }

  const TempDir dir_;
  const std::string train_ = dir_.Write("train.tsv", TrainedFiles::Rows(0, kTrainRows));
  const std::string test_ =
      dir_.Write("test.tsv", TrainedFiles::Rows(kTrainRows, kTrainRows + kTestRows));
};

TEST_F(TrainCommandTest, LearnsWhatTheRowsHold) {
  const json result = TrainJson({"--test", test_, "--epochs", "2"});
  EXPECT_GT(result["auc"], 0.6);
  EXPECT_EQ(result["quality_of"], "test");
  EXPECT_EQ(result["examples"], 2 * kTrainRows);
  EXPECT_EQ(result["test_examples"], kTestRows);
  EXPECT_EQ(result["skipped"], 0);
  EXPECT_EQ(result["steps"], 2 * kTrainRows / 100);
  EXPECT_GT(result["logloss"], 0.3);
  EXPECT_LT(result["logloss"], 0.6);
  EXPECT_GT(result["accuracy"], 0.7);
  EXPECT_GT(result["stage_seconds"]["compute"], 0.0);
  EXPECT_NEAR(result["examples_per_second"].get<double>() * result["seconds"].get<double>(),
              2 * kTrainRows, 1);
}

TEST_F(TrainCommandTest, WithoutTestRowsTheQualityIsOfTheTrainingRows) {
  const json result = TrainJson({});
  EXPECT_EQ(result["quality_of"], "train");
  EXPECT_EQ(result["auc"], result["train_auc"]);
  EXPECT_FALSE(result.contains("test_examples"));
}

TEST_F(TrainCommandTest, DeterministicRunsAreEqualForAnyNumberOfThreads) {
  std::vector<json> results;
  for (const char* threads : {"1", "2"}) {
    results.push_back(TrainJson({"--test", test_, "--deterministic", "--threads", threads}));
  }
  for (const char* key : {"auc", "logloss", "accuracy", "train_auc", "train_logloss",
                          "train_accuracy", "steps", "table_rows"}) {
    EXPECT_EQ(results[0][key], results[1][key]) << key;
  }
  const json other = TrainJson({"--test", test_, "--deterministic", "--seed", "5"});
  EXPECT_NE(results[0]["logloss"], other["logloss"]);
}

TEST_F(TrainCommandTest, StreamingGivesWhatMemoryGivesWithoutShuffle) {
  const json memory = TrainJson({"--deterministic", "--no_shuffle"});
  const json streamed = TrainJson({"--deterministic", "--no_in_memory"});
  const json shuffled = TrainJson({"--deterministic"});
  EXPECT_EQ(memory["train_logloss"], streamed["train_logloss"]);
  EXPECT_NE(memory["train_logloss"], shuffled["train_logloss"]);
}

TEST_F(TrainCommandTest, TrainsALogisticRegression) {
  const ProgramRun run = RunForTest({"train", "lr", "--data", train_, "--test", test_,
                                     "--batch_size", "100", "--learning_rate", "0.01"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.out, HasSubstr("auc"));
  EXPECT_THAT(run.out, HasSubstr("examples/s"));
  EXPECT_THAT(run.out, Not(HasSubstr("nan")));
}

TEST_F(TrainCommandTest, ProgressGoesToTheOtherStreamInTheSeedsWords) {
  const ProgramRun run = Train({"--test", test_});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("epoch 0 finished, use time="));
  EXPECT_THAT(run.out, Not(HasSubstr("epoch 0 finished")));
}

TEST_F(TrainCommandTest, ATableThatGrowsHoldsTheIdsThatOccurred) {
  const json result = TrainJson({"--sparse_feature_dim", "0"});
  EXPECT_GT(result["table_rows"], 1000);
  EXPECT_LT(result["table_rows"], 26 * kTrainRows);
}

TEST_F(TrainCommandTest, BadRowsAreErrorsWithTheirPlaceOrCounted) {
  const std::string bad =
      dir_.Write("bad.tsv", TrainedFiles::Rows(0, 5) + "broken\n" + TrainedFiles::Rows(5, 300));
  const ProgramRun refused = RunForTest({"train", "lr", "--data", bad});
  EXPECT_EQ(refused.code, kFailure);
  EXPECT_THAT(refused.err, HasSubstr(bad + ":6:1"));
  const ProgramRun counted =
      RunForTest({"train", "lr", "--data", bad, "--max_bad_rows", "1", "--json"});
  ASSERT_EQ(counted.code, kSuccess) << counted.err;
  EXPECT_EQ(json::parse(counted.out)["skipped"], 1);
  EXPECT_EQ(json::parse(counted.out)["examples"], 300);
}

TEST_F(TrainCommandTest, TheNumberOfWorkersOfTheEnvironmentHoldsUnlessAFlagSaysIt) {
  const auto threads = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "lr", "--data", train_, "--json"});
    const ProgramRun run = RunForTest(more);
    EXPECT_EQ(run.code, kSuccess) << run.err;
    return json::parse(run.out)["threads"];
  };
  setenv("CPU_NUM", "3", 1);
  EXPECT_EQ(threads({}), 3);
  EXPECT_EQ(threads({"--threads", "1"}), 1);
  unsetenv("CPU_NUM");
}

TEST_F(TrainCommandTest, MissingFilesAreFailuresThatNameTheFlag) {
  const ProgramRun run = Train({"--test", dir_.path() + "/missing"});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("--test: " + dir_.path() + "/missing: no such file"));
}

TEST_F(TrainCommandTest, FlagsThatDoNotFitAreUsageErrors) {
  auto error = [&](const std::vector<std::string>& more) {
    const ProgramRun run = Train(more);
    EXPECT_EQ(run.code, kUsageError);
    return run.err;
  };
  EXPECT_THAT(error({"--mode", "sync"}), HasSubstr("--mode sync needs servers"));
  EXPECT_THAT(error({"--half_dense"}), HasSubstr("mode local sends no dense gradients"));
  EXPECT_THAT(error({"--mode", "geo", "--server_num", "1", "--worker_num", "1", "--half_dense"}),
              HasSubstr("mode geo sends no dense gradients"));
  EXPECT_THAT(error({"--no_shared_memory"}), HasSubstr("mode local has no servers"));
  EXPECT_THAT(error({"--max_staleness", "3"}), HasSubstr("--max_staleness is for --mode async"));
  for (const auto& [flag, value] : std::map<std::string, std::string>{{"--save_via", "trainer"},
                                                                      {"--data_split", "none"},
                                                                      {"--start_timeout", "10"},
                                                                      {"--log_dir", "elsewhere"},
                                                                      {"--start_port", "6170"}}) {
    EXPECT_THAT(error({flag, value}),
                HasSubstr(flag + " is for modes with servers, not for local"));
  }
  EXPECT_THAT(error({"--global_shuffle"}), HasSubstr("--global_shuffle spreads rows over"));
  EXPECT_THAT(error({"--role", "trainer"}), HasSubstr("--role trainer needs --role_index"));
  EXPECT_THAT(error({"--role", "trainer", "--role_index", "0", "--servers", "127.0.0.1:1",
                     "--trainers", "1", "--server_num", "1"}),
              HasSubstr("--role trainer: --server_num and --worker_num are for"));
  EXPECT_THAT(error({"--role", "trainer", "--role_index", "0", "--servers", "127.0.0.1:1",
                     "--trainers", "1", "--log_dir", "elsewhere"}),
              HasSubstr("--role trainer: --log_dir is for the process that starts a job"));
  EXPECT_THAT(error({"--mode", "asynk"}), HasSubstr("did you mean async?"));
  EXPECT_THAT(error({"--mode", "local", "--server_num", "1", "--worker_num", "1"}),
              HasSubstr("for modes with servers"));
  EXPECT_THAT(error({"--recipe", "best"}), HasSubstr("known are default and seeds"));
  EXPECT_THAT(error({"--optimizer", "adamm"}), HasSubstr("unknown optimizer 'adamm'"));
  EXPECT_THAT(error({"--shuffle", "--no_in_memory"}), HasSubstr("--shuffle needs the rows"));
  const ProgramRun lr = RunForTest({"train", "lr", "--data", train_, "--dim", "4"});
  EXPECT_EQ(lr.code, kUsageError);
  EXPECT_THAT(lr.err, HasSubstr("--dim has no effect on the model lr"));
}

}  // namespace
}  // namespace flotilla
