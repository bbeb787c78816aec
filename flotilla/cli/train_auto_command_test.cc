// `flotilla train auto` from the command line to a model that the other commands read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/fleet/main.h"

namespace flotilla {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Rows whose label depends on a pair of categories, which a field-aware machine finds, and on a
// number.
std::string AutoRows(int begin, int end, bool number_label) {
  std::string text = "user,item,place,age,label\n";
  const RngKey key = RngKey(9).With("auto");
  for (int row = begin; row < end; ++row) {
    const RngKey cell = key.With(static_cast<uint64_t>(row));
    const uint64_t user = cell.Below(0, 6), item = cell.Below(1, 8), place = cell.Below(2, 5);
    const double age = 2 * cell.Uniform(3) - 1;
    const double logit = 6 * (key.With("pair").Uniform(user * 8 + item) - 0.5) + 3 * age;
    const double noise = cell.Uniform(4);
    const std::string label = number_label ? fmt::format("{:.3f}", 10 * logit + noise)
                                           : (noise < 1 / (1 + std::exp(-logit)) ? "1" : "0");
    text += fmt::format("u{},i{},p{},{:.2f},{}\n", user, item, place, age, label);
  }
  return text;
}

// Rows of six categories whose clicks follow a linear model, the inner products of vectors, or the
// product of three signs.
enum class Plant { kLinear, kPairs, kTriples };

std::string PlantedRows(Plant plant, int rows) {
  constexpr uint64_t kValues[] = {40, 60, 50, 30, 80, 20};
  const RngKey model = RngKey(5).With("model");
  std::string text = "a,b,c,d,e,f,label\n";
  for (int row = 0; row < rows; ++row) {
    const RngKey cell = RngKey(5).With("rows").With(static_cast<uint64_t>(row));
    double linear = 0, sum[3] = {}, squares = 0, sign = 1;
    for (uint64_t f = 0; f < 6; ++f) {
      const uint64_t value = cell.Below(f, kValues[f]);
      text += fmt::format("v{},", value);
      const RngKey id = model.With(f).With(value);
      linear += 2.4 * id.Uniform(0) - 1.2;
      for (int k = 0; k < 3; ++k) {
        const double factor = 2 * id.Uniform(k + 1) - 1;
        sum[k] += factor;
        squares += factor * factor;
      }
      if (f % 3 == 0 || f == 5) sign *= id.Below(4, 2) == 0 ? -1 : 1;
    }
    const double pairs = (sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2] - squares) / 2;
    const double logit = plant == Plant::kLinear  ? linear
                         : plant == Plant::kPairs ? pairs + 0.3 * linear
                                                  : 2.5 * sign;
    text += cell.Uniform(6) < 1 / (1 + std::exp(-logit)) ? "1\n" : "0\n";
  }
  return text;
}

class TrainAutoTest : public ::testing::Test {
 protected:
  ProgramRun Auto(std::vector<std::string> more) const {
    std::vector<std::string> args = {"train",   "auto",  "--data",         train_,
                                     "--label", "label", "--threads",      "2",
                                     "--seed",  "1",     "--deterministic"};
    args.insert(args.end(), more.begin(), more.end());
    return RunForTest(args);
  }

  json AutoJson(std::vector<std::string> more) const {
    more.push_back("--json");
    const ProgramRun run = Auto(std::move(more));
    EXPECT_EQ(run.code, kSuccess) << run.err;
    return run.code == kSuccess ? json::parse(run.out) : json();
  }

  // The result of `infer --json`.
  json Infer(const std::string& model) const {
    const ProgramRun run = RunForTest({"infer", model, "--data", test_, "--json"});
    EXPECT_EQ(run.code, kSuccess) << run.err;
    return run.code == kSuccess ? json::parse(run.out) : json();
  }

  const TempDir dir_;
  const std::string train_ = dir_.Write("train.csv", AutoRows(0, 3000, false));
  const std::string test_ = dir_.Write("test.csv", AutoRows(3000, 4000, false));
  const std::string out_ = dir_.path() + "/model";
};

TEST_F(TrainAutoTest, TrainsTheChoiceOnAllRowsAndSavesIt) {
  const json result = AutoJson({"--test", test_, "--out", out_});
  const json& race = result["race"];
  EXPECT_EQ(race["held_back"], 300);
  EXPECT_EQ(race["rows"], 2700);
  EXPECT_EQ(race["last"], false);
  ASSERT_EQ(race["models"].size(), 5u);
  double best = 0;
  int64_t epochs = 0;
  for (const json& each : race["models"]) {
    best = std::max<double>(best, each["auc"]);
  }
  for (const json& each : result["chosen"]) epochs += each["epochs"].get<int64_t>();
  EXPECT_GT(best, 0.6);
  EXPECT_EQ(result["examples"], 3000 * epochs);
  EXPECT_EQ(result["epochs"], epochs);
  EXPECT_GT(result["auc"], 0.6);
  const json scored = Infer(out_);
  EXPECT_NEAR(scored["auc"], result["auc"], 1e-6);
  EXPECT_NEAR(scored["logloss"], result["logloss"], 1e-5);
}

TEST_F(TrainAutoTest, ADirectoryOfAnotherRunIsRefusedBeforeTheRace) {
  ASSERT_EQ(Auto({"--out", out_}).code, kSuccess);
  const ProgramRun again = Auto({"--out", out_});
  EXPECT_EQ(again.code, kFailure);
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
  EXPECT_THAT(again.err, Not(HasSubstr("race")));
}

TEST_F(TrainAutoTest, TheChoiceIsExplained) {
  const ProgramRun run = Auto({"--holdout", "last:0.2"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.out, HasSubstr("last 600 of 3000 rows held back"));
  EXPECT_THAT(run.out, HasSubstr("ffm"));
  EXPECT_THAT(run.out, HasSubstr("chosen        "));
  EXPECT_THAT(run.out, HasSubstr(" alone\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("nan")));
}

TEST_F(TrainAutoTest, PlantedRowsAreWonByTheModelThatTheyAreMadeFor) {
  for (const auto& [plant, model] :
       {std::pair{Plant::kLinear, "lr"}, std::pair{Plant::kPairs, "fm"},
        std::pair{Plant::kTriples, "deepfm"}}) {
    const std::string data = dir_.Write("planted.csv", PlantedRows(plant, 30000));
    const ProgramRun run = RunForTest({"train", "auto", "--data", data, "--label", "label",
                                       "--seed", "1", "--deterministic", "--json"});
    ASSERT_EQ(run.code, kSuccess) << run.err;
    const json result = json::parse(run.out);
    // The winner comes first; another may be there because the mean with it is better.
    EXPECT_EQ(result["chosen"][0]["model"], model) << result;
  }
}

TEST_F(TrainAutoTest, NumbersAreRacedByTheirError) {
  const std::string data = dir_.Write("numbers.csv", AutoRows(0, 1500, true));
  const ProgramRun run = RunForTest({"train", "auto", "--data", data, "--label", "label",
                                     "--deterministic", "--json", "--out", out_});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const json result = json::parse(run.out);
  for (const json& each : result["race"]["models"]) EXPECT_GT(each["rmse"], 0);
  EXPECT_TRUE(result.contains("rmse"));
}

TEST_F(TrainAutoTest, SeveralModelsAreComparedOnTheTestRows) {
  const json result = AutoJson({"--models", "lr,wide_deep", "--test", test_, "--out", out_});
  ASSERT_EQ(result["models"].size(), 2u);
  ASSERT_EQ(result["differences"].size(), 1u);
  const json& pair = result["differences"][0];
  EXPECT_EQ(pair["models"], json({"lr", "wide_deep"}));
  const double lr = result["models"][0]["auc"], deep = result["models"][1]["auc"];
  EXPECT_NEAR(pair["difference"], lr - deep, 1e-6);
  EXPECT_GT(pair["standard_error"], 0);
  for (const json& model : result["models"]) {
    const std::string name = model["model"];
    EXPECT_NEAR(Infer(out_ + "/" + name)["auc"], model["auc"], 1e-6);
  }
  const ProgramRun text = Auto({"--models", "lr,wide_deep", "--test", test_});
  EXPECT_THAT(text.out, HasSubstr("lr - wide_deep"));
  // Each is what it is alone.
  const ProgramRun alone =
      RunForTest({"train", "lr", "--data", train_, "--test", test_, "--label", "label", "--threads",
                  "2", "--seed", "1", "--deterministic", "--json"});
  ASSERT_EQ(alone.code, kSuccess) << alone.err;
  EXPECT_EQ(json::parse(alone.out)["auc"], result["models"][0]["auc"]);
}

TEST_F(TrainAutoTest, WhatCannotBeIsRefusedWithACommand) {
  const auto error = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"train", "auto", "--data", train_});
    const ProgramRun run = RunForTest(more);
    EXPECT_EQ(run.code, 2) << run.err;
    return run.err;
  };
  EXPECT_THAT(error({"--mode", "async", "--server_num", "1", "--worker_num", "1"}),
              HasSubstr("flotilla train MODEL --epochs N --mode async"));
  EXPECT_THAT(error({"--out", out_, "--resume"}), HasSubstr("--resume"));
  EXPECT_THAT(error({"--epochs", "3"}), HasSubstr("flotilla train MODEL --epochs"));
  EXPECT_THAT(error({"--no_in_memory"}), HasSubstr("flotilla train MODEL --no_in_memory"));
  EXPECT_THAT(error({"--holdout", "2"}), HasSubstr("'2' is not a share"));
  EXPECT_THAT(error({"--models", "lr,deepfn", "--test", test_}), HasSubstr("did you mean deepfm"));
  EXPECT_THAT(error({"--models", "lr,lr", "--test", test_}), HasSubstr("named twice"));
  EXPECT_THAT(error({"--models", "lr"}), HasSubstr("--test"));
  EXPECT_THAT(error({"--models", "lr", "--test", test_, "--holdout", "0.1"}),
              HasSubstr("--holdout is for the race"));
}

TEST_F(TrainAutoTest, RowsOfOneClassAreAnErrorThatSaysSo) {
  std::string text = "a,b,label\n";
  for (int row = 0; row < 100; ++row)
    text += fmt::format("x{},y{},{}\n", row % 3, row % 5, row == 0);
  const ProgramRun run = RunForTest({"train", "auto", "--data", dir_.Write("one.csv", text),
                                     "--label", "label", "--holdout", "last:0.1"});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("10 rows held back"));
}

}  // namespace
}  // namespace flotilla
