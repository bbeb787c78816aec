// A user's program as a function: fl::Main on a small model and MultiSlot rows.
#include "flotilla/fleet/main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/graph/layers.h"
#include "flotilla/metric/auc.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/metric/logloss.h"
#include "flotilla/optim/adam.h"

namespace flotilla {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Clicks where the two ids are equal modulo 3.
std::string PairRows(int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) {
    const int a = i % 7, b = (i / 7) % 11;
    text += fmt::format("1 {} 2 {} {} 1 {}\n", a, b, b + 100, a % 3 == b % 3 ? 1 : 0);
  }
  return text;
}

Model PairModel(const Config& config) {
  const int64_t dim = config.Get("dim", 4, "Numbers per row");
  Graph g;
  const Var a = Embedding(g.Ids("a"), {.table = "left", .dim = dim, .init = Uniform(-1, 1)});
  const Var b = Embedding(g.Ids("b"), {.table = "right", .dim = dim, .init = Uniform(-1, 1)});
  const Var x = Fc(Concat({a, b}), 16, config.Get("smooth", false) ? Tanh : Relu);
  const Var predict = Fc(x, 2, Softmax);
  const Var label = g.Label("label");
  return {.graph = std::move(g),
          .loss = ReduceSum(CrossEntropy(predict, label)),
          .optimizer = Adam(0.01),
          .metrics = {Auc(predict, label)}};
}

struct MainRun {
  int code = 0;
  std::string out, err;
};

MainRun RunModel(std::vector<std::string> args, const ModelFunction& model = PairModel) {
  std::ostringstream out, err;
  const int code = RunMain("pairs", std::move(args), model, out, err);
  return {code, out.str(), err.str()};
}

class MainTest : public ::testing::Test {
 protected:
  const TempDir dir_;
  const std::string train_ = dir_.Write("train.txt", PairRows(0, 3000));
  const std::string test_ = dir_.Write("test.txt", PairRows(3000, 4000));
};

TEST_F(MainTest, TrainsTheModelOnMultiSlotRows) {
  const MainRun run = RunModel(
      {"--data", train_, "--test", test_, "--batch_size", "50", "--epochs", "4", "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const json result = json::parse(run.out);
  EXPECT_GT(result["auc"], 0.9);
  EXPECT_EQ(result["model"], "pairs");
}

// PairModel with other metrics.
ModelFunction PairModelWith(std::vector<MetricSpec> (*metrics)(int predict, int label),
                            std::string watch = "") {
  return [=](const Config& config) {
    Model model = PairModel(config);
    const std::vector<int> vars = model.metrics[0].vars;
    model.metrics = metrics(vars[0], vars[1]);
    model.watch = watch;
    return model;
  };
}

TEST_F(MainTest, TheModelNamesTheMetricThatDecidesWhichEpochIsTheBest) {
  const auto logloss = [](int predict, int label) -> std::vector<MetricSpec> {
    return {LogLossSpec(predict, label)};
  };
  const std::vector<std::string> args = {"--data", train_,      "--test", test_,   "--epochs",
                                         "2",      "--threads", "1",      "--json"};
  std::vector<std::string> with_out = args;
  with_out.insert(with_out.end(), {"--out", dir_.path() + "/out"});
  const MainRun run = RunModel(with_out, PairModelWith(logloss));
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const json result = json::parse(run.out);
  EXPECT_LE(result.at("best_logloss"), result["logloss"]);
  EXPECT_FALSE(result.contains("best_auc"));
  EXPECT_TRUE(std::filesystem::exists(dir_.path() + "/out/best"));
  const auto both = [](int predict, int label) -> std::vector<MetricSpec> {
    return {LogLossSpec(predict, label), AucSpec(predict, label)};
  };
  const MainRun named = RunModel(args, PairModelWith(both, "auc"));
  ASSERT_EQ(named.code, kSuccess) << named.err;
  EXPECT_GE(json::parse(named.out).at("best_auc"), json::parse(named.out)["auc"]);
  const MainRun unknown = RunModel(args, PairModelWith(both, "rmse"));
  EXPECT_EQ(unknown.code, kFailure);
  EXPECT_THAT(unknown.err, HasSubstr("the model: watch: the model has no metric 'rmse'"));
}

TEST_F(MainTest, StopsEarlyByTheWatchedMetric) {
  const auto logloss = [](int predict, int label) -> std::vector<MetricSpec> {
    return {LogLossSpec(predict, label)};
  };
  const std::vector<std::string> args = {
      "--data", train_, "--test", test_, "--epochs", "9", "--threads", "1", "--early_stop", "1"};
  const MainRun run = RunModel(args, [&](const Config& config) -> StatusOr<Model> {
    FL_ASSIGN_OR_RETURN(Model model, PairModelWith(logloss)(config));
    model.optimizer = Adam(1e-30);  // no epoch is better than the one before
    return model;
  });
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("stopping early: 1 epochs without a test logloss below "));
  const auto none = [](int, int) -> std::vector<MetricSpec> { return {}; };
  const MainRun unwatched = RunModel(args, PairModelWith(none));
  EXPECT_EQ(unwatched.code, kUsageError);
  EXPECT_THAT(unwatched.err, HasSubstr("--early_stop needs a metric"));
}

TEST_F(MainTest, TheWatchFlagNamesTheMetricInPlaceOfTheModel) {
  const auto both = [](int predict, int label) -> std::vector<MetricSpec> {
    return {AucSpec(predict, label), LogLossSpec(predict, label), CalibrationSpec(predict, label)};
  };
  std::vector<std::string> args = {"--data", train_, "--test", test_, "--json", "--watch"};
  const auto run = [&](const std::string& watch) {
    args.back() = "--watch=" + watch;
    return RunModel(args, PairModelWith(both));
  };
  const MainRun watched = run("logloss");
  ASSERT_EQ(watched.code, kSuccess) << watched.err;
  EXPECT_TRUE(json::parse(watched.out).contains("best_logloss"));
  EXPECT_FALSE(json::parse(watched.out).contains("best_auc"));
  EXPECT_GT(json::parse(watched.out)["calibration"], 0);
  const MainRun unknown = run("rmse");
  EXPECT_EQ(unknown.code, kUsageError);
  EXPECT_THAT(unknown.err, HasSubstr("--watch: watch: the model has no metric 'rmse'"));
  EXPECT_THAT(run("calibration").err, HasSubstr("cannot tell the better of two models"));
}

// Adam's rate is so small that no epoch is better than the one before: lowered after epochs 2
// and 4.
TEST_F(MainTest, APlateauOfTheTestValueLowersTheLearningRate) {
  const auto still = [](const Config& config) -> StatusOr<Model> {
    Model model = PairModel(config);
    model.optimizer = Adam(1e-30);
    return model;
  };
  const std::string out = dir_.path() + "/plateau";
  std::vector<std::string> args = {"--data",    train_, "--test",    test_, "--epochs", "4",
                                   "--threads", "1",    "--plateau", "2",   "--out",    out};
  const MainRun run = RunModel(args, still);
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err,
              HasSubstr("2 epochs without a better test AUC: the learning rate is now 1e-31"));
  EXPECT_THAT(run.err, Not(HasSubstr("1e-32")));
  args[5] = "5";
  args.push_back("--resume");
  const MainRun resumed = RunModel(args, still);
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  EXPECT_THAT(resumed.err,
              HasSubstr("4 epochs without a better test AUC: the learning rate is now 1e-32"))
      << "the state of the run is resumed";
  const MainRun sync = RunModel({"--data", train_, "--test", test_, "--plateau", "1", "--mode",
                                 "sync", "--server_num", "1", "--worker_num", "1"});
  EXPECT_EQ(sync.code, kUsageError);
  EXPECT_THAT(sync.err, HasSubstr("in mode sync the servers do: use mode local or geo"));
  EXPECT_THAT(RunModel({"--data", train_, "--plateau", "1"}).err,
              HasSubstr("--plateau needs test rows"));
}

TEST_F(MainTest, FlagsAreThoseOfTrainingAndTheModels) {
  const MainRun help = RunModel({"--help"});
  EXPECT_EQ(help.code, kSuccess);
  EXPECT_THAT(help.out, HasSubstr("--dim VALUE"));
  EXPECT_THAT(help.out, HasSubstr("Numbers per row (default 4)"));
  EXPECT_THAT(help.out, HasSubstr("--batch_size"));
  const MainRun bad = RunModel({"--data", train_, "--dimm", "8"});
  EXPECT_EQ(bad.code, kUsageError);
  EXPECT_THAT(bad.err, HasSubstr("unknown flag --dimm, did you mean --dim?"));
  const MainRun value = RunModel({"--data", train_, "--dim", "x"});
  EXPECT_EQ(value.code, kUsageError);
  EXPECT_THAT(value.err, HasSubstr("--dim: 'x' is not a whole number"));
}

TEST_F(MainTest, FlagsStandOverTheFileAndTheFileOverDefaults) {
  const std::string config =
      dir_.Write("run.toml", fmt::format("# a comment\ndata = \"{}\"\ndim = 8\nbatch_size = 50\n"
                                         "shuffle = false\nsmooth = true\n",
                                         train_));
  const MainRun printed =
      RunModel({"--config", config, "--batch_size", "10", "--print_config", "--epochs=2"});
  ASSERT_EQ(printed.code, kSuccess) << printed.err;
  EXPECT_THAT(printed.out, ::testing::ContainsRegex("batch_size = 10 +# flag\n"));
  EXPECT_THAT(printed.out, ::testing::ContainsRegex("\nepochs = 2 +# flag\n"));
  EXPECT_THAT(printed.out, HasSubstr("dim = 8"));
  EXPECT_THAT(printed.out, HasSubstr("# " + config));
  EXPECT_THAT(printed.out, ::testing::ContainsRegex("\nshuffle = false +# /"));
  EXPECT_THAT(printed.out, ::testing::ContainsRegex("\nin_memory = true +# default\n"));
  EXPECT_THAT(printed.out, ::testing::ContainsRegex("\nsmooth = true +# /"));
  EXPECT_THAT(printed.out, ::testing::ContainsRegex("\nseed = 0 +# default\n"));
  // The output is itself a configuration file with the same values.
  const std::string again = dir_.Write("again.toml", printed.out);
  const MainRun reprinted = RunModel({"--config", again, "--print_config"});
  EXPECT_EQ(reprinted.code, kSuccess) << reprinted.err;
  EXPECT_THAT(reprinted.out, HasSubstr("batch_size = 10"));
  EXPECT_THAT(reprinted.out, HasSubstr("shuffle = false"));
  const MainRun same = RunModel({"--config", again, "--json"});
  EXPECT_EQ(same.code, kSuccess) << same.err;
  const MainRun run = RunModel({"--config", config, "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(json::parse(run.out)["batch_size"], 50);
}

// The words of a command line, split as by a shell.
std::vector<std::string> ShellWords(const std::string& line) {
  std::vector<std::string> words(1);
  FILE* const shell = popen(("printf '%s\\n' " + line).c_str(), "r");
  EXPECT_NE(shell, nullptr);
  for (int c = fgetc(shell); c != EOF; c = fgetc(shell)) {
    if (c == '\n') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(c);
    }
  }
  pclose(shell);
  words.pop_back();
  return words;
}

TEST_F(MainTest, TheCommandThatGoesOnWorksAsItIsPrinted) {
  const std::string out = dir_.path() + "/the user's models";
  const std::string config = dir_.Write(
      "run.toml", fmt::format("data = \"{}\"\nepochs = 100000\noverwrite = true\n", train_));
  std::thread killer([&] {
    while (!std::filesystem::exists(out + "/latest")) std::this_thread::yield();
    raise(SIGTERM);
  });
  std::ostringstream stdout_text, err;
  const int code = RunMain("bin/my pairs", {"--config", config, "--overwrite", "--out", out},
                           PairModel, stdout_text, err);
  killer.join();
  ASSERT_EQ(code, 128 + SIGTERM) << err.str();
  const std::string text = err.str(), before = "to continue:\n  ";
  const size_t begin = text.find(before) + before.size();
  const std::vector<std::string> words =
      ShellWords(text.substr(begin, text.find('\n', begin) - begin));
  EXPECT_THAT(words,
              ::testing::ElementsAre("bin/my pairs", "--config", config, "--out", out, "--resume"));
  std::vector<std::string> args(words.begin() + 1, words.end());
  args.insert(args.end(), {"--epochs", "1"});
  const MainRun resumed = RunModel(args);
  EXPECT_EQ(resumed.code, kSuccess) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("starting from " + out));
}

TEST_F(MainTest, MistakesInTheFileAreNamed) {
  auto error = [&](const std::string& text) {
    const MainRun run = RunModel({"--data", train_, "--config", dir_.Write("bad.toml", text)});
    EXPECT_EQ(run.code, kUsageError);
    return run.err;
  };
  EXPECT_THAT(error("batchsize = 10\n"),
              HasSubstr("unknown key batchsize, did you mean batch_size"));
  EXPECT_THAT(error("[train]\nepochs = 1\n"), HasSubstr("sections are not allowed"));
  EXPECT_THAT(error("smooth = 3\n"), HasSubstr("smooth = 3: true or false was expected"));
  EXPECT_THAT(error("epochs = many\n"), HasSubstr("'many' is not a whole number"));
  const MainRun missing = RunModel({"--data", train_, "--config", "/no/such.toml"});
  EXPECT_EQ(missing.code, kUsageError);
  EXPECT_THAT(missing.err, HasSubstr("--config /no/such.toml: cannot read the file"));
}

TEST_F(MainTest, AModelThatMakesNoSenseIsToldBeforeAnything) {
  const MainRun taken = RunModel({}, [](const Config& config) {
    config.Get("epochs", 3);
    return PairModel(config);
  });
  EXPECT_EQ(taken.code, kFailure);
  EXPECT_THAT(taken.err,
              HasSubstr("the model reads --epochs, which is already a flag of training"));
  const MainRun broken = RunModel(
      {}, [](const Config&) -> StatusOr<Model> { return InvalidArgument("no network today"); });
  EXPECT_EQ(broken.code, kFailure);
  EXPECT_THAT(broken.err, HasSubstr("no network today"));
}

}  // namespace
}  // namespace flotilla
