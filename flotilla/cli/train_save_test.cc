// `flotilla train` with --out: which models are kept, and continuing from them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/cli/trained_files_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class TrainSaveTest : public ::testing::Test {
 protected:
  ProgramRun Train(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> args = {"train",     "ctr_dnn", "--data", train_,         "--layers",
                                     "16",        "--dim",   "4",      "--batch_size", "100",
                                     "--threads", "2",       "--out",  Dir(out)};
    args.insert(args.end(), more.begin(), more.end());
    return RunForTest(args);
  }
  std::string Dir(const std::string& name) const { return dir_.path() + "/" + name; }

  // Names in a directory, without hidden ones.
  std::set<std::string> Models(const std::string& out) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(Dir(out))) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with('.')) names.insert(name);
    }
    return names;
  }

  // The same tensors, byte by byte.
  void ExpectSameModel(const std::string& a, const std::string& b) const {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(Dir(a))) {
      if (entry.path().extension() != ".safetensors") continue;
      ++files;
      EXPECT_EQ(ContentOf(entry.path()), ContentOf(fs::path(Dir(b)) / entry.path().filename()))
          << entry.path();
    }
    EXPECT_GE(files, 2);
  }

  const TempDir dir_;
  const std::string train_ = dir_.Write("train.tsv", TrainedFiles::Rows(0, 6000));
  const std::string test_ = dir_.Write("test.tsv", TrainedFiles::Rows(6000, 7000));
};

TEST_F(TrainSaveTest, KeepsAModelPerEpochTheLatestAndTheBest) {
  const ProgramRun run = Train("out", {"--test", test_, "--epochs", "3"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(Models("out"), ElementsAre("best", "epoch_0", "epoch_1", "epoch_2", "latest"));
  EXPECT_EQ(fs::read_symlink(Dir("out/latest")), "epoch_2");
  EXPECT_THAT(run.err, HasSubstr("saved " + Dir("out/epoch_0")));
  const std::string metrics = ContentOf(Dir("out.log/metrics.jsonl"));
  EXPECT_THAT(metrics, HasSubstr("\"kind\":\"test\""));
  EXPECT_THAT(metrics, HasSubstr("\"event\":\"save\""));
  EXPECT_THAT(ContentOf(Dir("out.log/curves.svg")), HasSubstr("<svg"));
}

TEST_F(TrainSaveTest, KeepsOnlyTheNewestFewAndTheBest) {
  ASSERT_EQ(Train("out", {"--epochs", "4", "--keep", "2"}).code, kSuccess);
  EXPECT_THAT(Models("out"), ElementsAre("epoch_2", "epoch_3", "latest"));
}

TEST_F(TrainSaveTest, TwoEpochsAreOneAndAResumedOneBitForBit) {
  ASSERT_EQ(Train("straight", {"--deterministic", "--epochs", "2"}).code, kSuccess);
  ASSERT_EQ(Train("parts", {"--deterministic", "--epochs", "1"}).code, kSuccess);
  const ProgramRun resumed =
      Train("parts", {"--deterministic", "--epochs", "2", "--resume", "--threads", "1"});
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("starting from " + Dir("parts/latest")));
  ExpectSameModel("straight/epoch_1", "parts/epoch_1");
}

TEST_F(TrainSaveTest, ASignalSavesAndTheResumedRunEndsWithTheSameBits) {
  const std::vector<std::string> flags = {"--deterministic", "--epochs", "40", "--save_steps", "25",
                                          "--keep",          "0"};
  ASSERT_EQ(Train("straight", flags).code, kSuccess);
  // The signal comes once the run has saved for the first time, somewhere inside an epoch.
  std::thread killer([&] {
    while (!fs::exists(Dir("stopped/latest"))) std::this_thread::yield();
    raise(SIGTERM);
  });
  const ProgramRun stopped = Train("stopped", flags);
  killer.join();
  ASSERT_EQ(stopped.code, 128 + SIGTERM) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("to continue:\n  flotilla train ctr_dnn"));
  EXPECT_THAT(stopped.err, HasSubstr("--resume"));
  std::vector<std::string> again = flags;
  again.push_back("--resume");
  const ProgramRun resumed = Train("stopped", again);
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  ExpectSameModel("straight/epoch_39", "stopped/epoch_39");
}

TEST_F(TrainSaveTest, AResumedEpochCountsFromItsBeginning) {
  const std::vector<std::string> flags = {"--deterministic", "--save_steps", "25", "--keep", "0",
                                          "--json"};
  const ProgramRun straight = Train("out", flags);
  ASSERT_EQ(straight.code, kSuccess) << straight.err;
  fs::remove_all(Dir("out/epoch_0"));
  fs::remove(Dir("out/latest"));
  fs::create_symlink("step_25", Dir("out/latest"));
  std::vector<std::string> again = flags;
  again.push_back("--resume");
  const ProgramRun resumed = Train("out", again);
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  const json all = json::parse(straight.out), rest = json::parse(resumed.out);
  EXPECT_EQ(rest["examples"], 6000);
  EXPECT_NEAR(rest["loss"], all["loss"], 1e-6);
  EXPECT_EQ(rest["auc"], all["auc"]);
  EXPECT_NEAR(rest["logloss"], all["logloss"], 1e-6);
}

TEST_F(TrainSaveTest, ResumingWithNothingThereStartsAndWithNothingLeftEnds) {
  const ProgramRun first = Train("out", {"--resume"});
  ASSERT_EQ(first.code, kSuccess) << first.err;
  EXPECT_THAT(first.err, HasSubstr("has no model yet, starting a new run"));
  const ProgramRun second = Train("out", {"--resume"});
  ASSERT_EQ(second.code, kSuccess) << second.err;
  EXPECT_THAT(second.err, HasSubstr("nothing is left to train"));
  EXPECT_THAT(second.out, Not(HasSubstr("loss")));
  const json figures = json::parse(Train("out", {"--resume", "--json"}).out);
  EXPECT_TRUE(figures["loss"].is_null());
  EXPECT_TRUE(figures["train_loss"].is_null());
}

TEST_F(TrainSaveTest, AResumedRunComparesItsModelsByTheSameMetric) {
  ASSERT_EQ(Train("out", {"--test", train_}).code, kSuccess);
  const ProgramRun other =
      Train("out", {"--test", train_, "--epochs", "2", "--resume", "--watch", "logloss"});
  EXPECT_EQ(other.code, kFailure);
  EXPECT_THAT(other.err, HasSubstr("was chosen by auc, not by --watch logloss"));
  const ProgramRun same =
      Train("out", {"--test", train_, "--epochs", "2", "--resume", "--watch", "auc"});
  EXPECT_EQ(same.code, kSuccess) << same.err;
}

TEST_F(TrainSaveTest, ASecondRunIntoTheDirectoryIsRefusedAndChangesNothing) {
  ASSERT_EQ(Train("out", {"--epochs", "2"}).code, kSuccess);
  const std::string metrics = ContentOf(Dir("out.log/metrics.jsonl"));
  const std::string model = ContentOf(Dir("out/epoch_0/manifest.json"));
  const ProgramRun second = Train("out", {});
  EXPECT_EQ(second.code, kFailure);
  EXPECT_THAT(second.err, HasSubstr("has models of another run: epoch_0, epoch_1"));
  EXPECT_THAT(second.err, HasSubstr("--resume to continue it, --overwrite to replace it"));
  EXPECT_EQ(ContentOf(Dir("out.log/metrics.jsonl")), metrics);
  EXPECT_EQ(ContentOf(Dir("out/epoch_0/manifest.json")), model);
}

TEST_F(TrainSaveTest, ASlashBehindTheDirectoryMeansNothing) {
  ASSERT_EQ(Train("out/", {}).code, kSuccess);
  EXPECT_TRUE(fs::exists(Dir("out.log/metrics.jsonl")));
  EXPECT_FALSE(fs::exists(Dir("out/.log")));
}

TEST_F(TrainSaveTest, OverwritingReplacesTheOtherRunWithTheFirstSave) {
  ASSERT_EQ(Train("out", {"--epochs", "3", "--test", test_}).code, kSuccess);
  const std::string metrics = ContentOf(Dir("out.log/metrics.jsonl"));
  // A run that fails before it has saved leaves everything as it was.
  const std::string bad = dir_.Write("bad.tsv", "broken\n");
  EXPECT_EQ(Train("out", {"--overwrite", "--data", bad}).code, kFailure);
  EXPECT_THAT(Models("out"), ElementsAre("best", "epoch_0", "epoch_1", "epoch_2", "latest"));
  EXPECT_EQ(ContentOf(Dir("out.log/metrics.jsonl")), metrics);
  const ProgramRun second = Train("out", {"--overwrite"});
  ASSERT_EQ(second.code, kSuccess) << second.err;
  EXPECT_THAT(Models("out"), ElementsAre("epoch_0", "latest"));
  EXPECT_THAT(ContentOf(Dir("out.log/metrics.jsonl")), ::testing::Not(HasSubstr("\"test\"")));
  EXPECT_FALSE(fs::exists(Dir("out.log/metrics.jsonl.new")));
}

TEST_F(TrainSaveTest, ResumingWithoutLatestGoesOnWithTheNewestModel) {
  ASSERT_EQ(Train("out", {"--epochs", "2"}).code, kSuccess);
  fs::remove(Dir("out/latest"));
  const ProgramRun resumed = Train("out", {"--epochs", "3", "--resume"});
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("latest is missing"));
  EXPECT_THAT(resumed.err, HasSubstr("starting from " + Dir("out/epoch_1")));
  EXPECT_EQ(fs::read_symlink(Dir("out/latest")), "epoch_2");
  EXPECT_THAT(ContentOf(Dir("out.log/metrics.jsonl")), HasSubstr("\"epoch\":0"));
}

TEST_F(TrainSaveTest, InitModelStartsARunThatHasNothingToResume) {
  ASSERT_EQ(Train("a", {}).code, kSuccess);
  const std::vector<std::string> flags = {"--init_model", Dir("a"), "--resume"};
  const ProgramRun first = Train("b", flags);
  ASSERT_EQ(first.code, kSuccess) << first.err;
  EXPECT_THAT(first.err, HasSubstr("starting from " + Dir("a/latest")));
  EXPECT_THAT(Train("b", flags).err, HasSubstr("starting from " + Dir("b/latest")));
}

TEST_F(TrainSaveTest, WithoutADirectoryTheRunSaysThatNothingIsKept) {
  const ProgramRun run = RunForTest({"train", "lr", "--data", train_});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_LT(run.err.find("without --out DIR no model is saved"), run.err.find("epoch 0"));
}

TEST_F(TrainSaveTest, AResumedRunForgetsTheBestOfOtherTestRows) {
  ASSERT_EQ(Train("out", {"--test", train_}).code, kSuccess);
  const ProgramRun other = Train("out", {"--test", test_, "--epochs", "2", "--resume", "--json"});
  ASSERT_EQ(other.code, kSuccess) << other.err;
  EXPECT_THAT(other.err, HasSubstr("was chosen on other test data (1 file, "));
  // Training rows are easier than others, so that epoch 0 would stay the best.
  EXPECT_EQ(json::parse(other.out)["best_epoch"], 1);
  EXPECT_EQ(fs::read_symlink(Dir("out/best")), "epoch_1");
  const ProgramRun same = Train("out", {"--test", test_, "--epochs", "3", "--resume"});
  ASSERT_EQ(same.code, kSuccess) << same.err;
  EXPECT_THAT(same.err, Not(HasSubstr("other test data")));
}

// Cases in which the resumed run would read other batches than the position refers to.
TEST_F(TrainSaveTest, ResumingInsideAnEpochNamesTheOptionThatDiffers) {
  std::thread killer([&] {
    while (!fs::exists(Dir("out/latest"))) std::this_thread::yield();
    raise(SIGTERM);
  });
  // Thousands of batches an epoch: it is not stopped between two epochs.
  const ProgramRun stopped =
      Train("out", {"--epochs", "1000", "--save_steps", "25", "--batch_size", "1"});
  killer.join();
  ASSERT_EQ(stopped.code, 128 + SIGTERM) << stopped.err;
  const ProgramRun batch = Train("out", {"--epochs", "1000", "--resume", "--batch_size", "50"});
  EXPECT_EQ(batch.code, kFailure);
  EXPECT_THAT(batch.err, HasSubstr("--batch_size was 1, now 50; use the values it was saved with"));
  const std::string other = dir_.Write("other.tsv", TrainedFiles::Rows(0, 6001));
  const ProgramRun files =
      Train("out", {"--epochs", "1000", "--resume", "--data", other, "--batch_size", "1"});
  EXPECT_EQ(files.code, kFailure);
  EXPECT_THAT(files.err, HasSubstr("--data was 1 file, "));
  EXPECT_THAT(files.err, HasSubstr("(train.tsv), now "));
}

TEST_F(TrainSaveTest, TheResultsTellTheLastAndTheBestEpoch) {
  const std::vector<std::string> flags = {"--test",          test_, "--epochs", "6",
                                          "--learning_rate", "0.01"};
  std::vector<std::string> with_json = flags;
  with_json.push_back("--json");
  const json result = json::parse(Train("a", with_json).out);
  EXPECT_EQ(result["last_epoch"], 5);
  ASSERT_LT(result["best_epoch"], 5) << "these rows are overfitted";
  EXPECT_EQ(result["out"], Dir("a"));
  EXPECT_EQ(fs::read_symlink(Dir("a/best")),
            fmt::format("epoch_{}", result["best_epoch"].get<int>()));
  const ProgramRun table = Train("b", flags);
  EXPECT_THAT(table.out, HasSubstr("\nlast          epoch 5, test AUC 0."));
  EXPECT_THAT(table.out, HasSubstr("\nbest          epoch "));
  EXPECT_THAT(table.out, HasSubstr(Dir("b/best")));
  const json infer = json::parse(RunForTest({"infer", Dir("a"), "--data", test_, "--json"}).out);
  EXPECT_EQ(infer["epoch"], 5);
  EXPECT_EQ(infer["best_epoch"], result["best_epoch"]);
  EXPECT_EQ(infer["best_auc"], result["best_auc"]);
  EXPECT_NEAR(infer["test_auc"], infer["auc"], 1e-3);
  EXPECT_THAT(RunForTest({"infer", Dir("a"), "--data", test_}).out,
              HasSubstr("saved         after epoch 5 (test AUC 0."));
}

TEST_F(TrainSaveTest, StartsFromAnotherModel) {
  ASSERT_EQ(Train("a", {"--no_shuffle"}).code, kSuccess);
  const ProgramRun warm = Train("b", {"--init_model", Dir("a"), "--json"});
  ASSERT_EQ(warm.code, kSuccess) << warm.err;
  const ProgramRun cold = Train("c", {"--json"});
  EXPECT_LT(json::parse(warm.out)["train_logloss"], json::parse(cold.out)["train_logloss"]);
  const ProgramRun other = Train("d", {"--init_model", Dir("a"), "--optimizer", "adagrad"});
  EXPECT_EQ(other.code, kFailure);
  EXPECT_THAT(other.err, HasSubstr("--init_model"));
  EXPECT_THAT(other.err, HasSubstr("adagrad"));
  EXPECT_EQ(
      Train("d", {"--init_model", Dir("a"), "--optimizer", "adagrad", "--fresh_optimizer"}).code,
      kSuccess);
  const ProgramRun wider = Train("e", {"--init_model", Dir("a"), "--layers", "16,8"});
  EXPECT_EQ(wider.code, kFailure);
}

TEST_F(TrainSaveTest, ParametersThatAModelLacksStartWithTheirInitialValues) {
  ASSERT_EQ(Train("a", {"--layers", "16,2"}).code, kSuccess);
  const std::vector<std::string> deeper = {"--init_model", Dir("a"), "--layers", "16,2,2"};
  const ProgramRun refused = Train("b", deeper);
  EXPECT_EQ(refused.code, kFailure);
  EXPECT_THAT(refused.err, HasSubstr("fc_3"));
  std::vector<std::string> allowed = deeper;
  allowed.emplace_back("--allow_missing");
  const ProgramRun run = Train("b", allowed);
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("fc_3.w_0: not in the model, starts with its initial values"));
}

// The disk is full for metrics.jsonl only.
TEST_F(TrainSaveTest, MetricsThatCannotBeWrittenAreToldOnceAndTrainingGoesOn) {
  fs::create_directory(Dir("out.log"));
  fs::create_symlink("/dev/full", Dir("out.log/metrics.jsonl"));
  const ProgramRun run = Train("out", {"--epochs", "3"});
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(fs::read_symlink(Dir("out/latest")), "epoch_2");
  const std::string warning = "; training continues";
  const size_t first = run.err.find(warning);
  ASSERT_NE(first, std::string::npos) << run.err;
  EXPECT_EQ(run.err.find(warning, first + 1), std::string::npos) << run.err;
}

TEST_F(TrainSaveTest, CurvesThatCannotBeDrawnDoNotFailTheRun) {
  fs::create_directories(Dir("out.log/curves.svg.tmp"));
  const ProgramRun run = Train("out", {});
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("out.log/curves.svg: cannot be written: Is a directory"));
}

TEST_F(TrainSaveTest, AFailedSaveEndsTheRunOnlyIfItIsTheLast) {
  // As if another process were saving epoch_0.
  fs::create_directories(Dir("out/epoch_0.saving"));
  const int lock = open(Dir("out/epoch_0.saving").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  const ProgramRun last = Train("out", {});
  EXPECT_EQ(last.code, kFailure);
  EXPECT_THAT(last.err, HasSubstr("the last save"));
  const ProgramRun run = Train("out", {"--epochs", "2"});
  close(lock);
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("epoch_0 was not saved: save "));
  EXPECT_THAT(run.err, HasSubstr("(failed saves of this run: 1; earlier models are unchanged)"));
  EXPECT_THAT(run.out, HasSubstr("failed saves  1, see the log"));
  EXPECT_EQ(fs::read_symlink(Dir("out/latest")), "epoch_1");
}

TEST_F(TrainSaveTest, AModelOfRowsThatWereMadeOtherwiseIsNotGoneOnWith) {
  ASSERT_EQ(Train("a", {}).code, kSuccess);
  const std::string param = "--format_param", value = "hash_dim=1000", ignore = "--ignore_format";
  const ProgramRun resumed = Train("a", {"--resume", "--epochs", "2", param, value});
  EXPECT_EQ(resumed.code, kFailure);
  EXPECT_THAT(resumed.err, HasSubstr("with hash_dim 1000001, here it is 1000"));
  const ProgramRun warm = Train("b", {"--init_model", Dir("a"), param, value});
  EXPECT_EQ(warm.code, kFailure);
  EXPECT_THAT(warm.err, HasSubstr(Dir("a/latest") + ": the model was trained on criteo rows with"));
  const ProgramRun taken = Train("c", {"--init_model", Dir("a"), param, value, ignore});
  EXPECT_EQ(taken.code, kSuccess) << taken.err;
  EXPECT_EQ(Train("d", {ignore}).code, kUsageError) << "there is no model to compare with";
}

TEST_F(TrainSaveTest, StopsEarlyWhenTheTestAucNoLongerGrows) {
  const ProgramRun run = Train("out", {"--test", test_, "--epochs", "50", "--early_stop", "1",
                                       "--json", "--learning_rate", "0.01"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("stopping early"));
  const json result = json::parse(run.out);
  EXPECT_LT(result["examples"], 50 * 6000);
  EXPECT_GE(result["best_auc"], result["auc"]);
}

TEST_F(TrainSaveTest, DrawsThePictureThatWasAskedFor) {
  const std::string picture = Dir("run.svg");
  ASSERT_EQ(Train("out", {"--plot", picture}).code, kSuccess);
  EXPECT_THAT(ContentOf(picture), HasSubstr("<svg"));
  const ProgramRun nowhere = Train("other", {"--plot", Dir("missing/run.svg")});
  EXPECT_EQ(nowhere.code, kFailure);
  EXPECT_THAT(nowhere.err, HasSubstr("--plot"));
}

TEST_F(TrainSaveTest, ProgressAsJsonIsOneObjectALine) {
  const ProgramRun run = Train("out", {"--log_format", "json"});
  ASSERT_EQ(run.code, kSuccess);
  std::istringstream lines(run.err);
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    ++count;
    EXPECT_FALSE(json::parse(line, nullptr, false).is_discarded()) << line;
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace flotilla
