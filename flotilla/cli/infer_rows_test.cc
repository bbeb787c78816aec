// `flotilla infer` on rows of a schema: without labels, and with columns beside the scores.
#include "flotilla/cli/infer_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/main.h"
#include "flotilla/graph/layers.h"
#include "flotilla/optim/adam.h"

namespace flotilla {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kColumns[] =
    "id:keep x:number city:category(hash) w:weight user:group click:label(no,yes) name:keep";

// Clicks of cities; headerless with the schema of `words`.
Model CityModel(const std::string& words) {
  const Schema schema = *Schema::FromText(words);
  Graph g;
  const Var x = g.Dense("numbers", 1);
  const Var city = Embedding(g.Ids("city"), {.table = "cities", .dim = 3, .init = Uniform(-1, 1)});
  const Var weight = g.Dense("w", 1);
  const Var user = g.Ids("user");
  const Var click = g.Label("click");
  const Var predict = Fc(Concat({city, x}), 2, Softmax);
  return {
      .graph = std::move(g),
      .loss = WeightedSum(CrossEntropy(predict, click), weight),
      .optimizer = Adam(0.01),
      .metrics = {Auc(predict, click), LogLossMetric(predict, click), Gauc(predict, click, user)},
      .weight = weight,
      .format = SpecOf(*FittedSchema::Make(schema, std::nullopt))};
}

// The row of a number, with the columns of a header in any order.
std::string CityRow(int i, const std::string& header) {
  const std::map<std::string, std::string> cells = {
      {"id", fmt::format("row{}", i)},         {"x", fmt::format("{}", i % 100 * 0.01)},
      {"city", fmt::format("c{}", i % 7)},     {"w", fmt::format("{}", 1 + i % 2)},
      {"user", fmt::format("u{}", i % 5)},     {"click", i % 7 < 3 ? "yes" : "no"},
      {"name", fmt::format("\"n, {}\t.\"", i)}};
  std::string line;
  std::istringstream names(header);
  for (std::string name; std::getline(names, name, ',');) {
    line += (line.empty() ? "" : ",") + cells.at(name);
  }
  return line + "\n";
}

constexpr char kAll[] = "id,x,city,w,user,click,name";

std::string CityRows(int begin, int end, const std::string& header = kAll) {
  std::string text = header + "\n";
  for (int i = begin; i < end; ++i) text += CityRow(i, header);
  return text;
}

class InferRowsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<TempDir>();
    Train("model", std::string("header=yes ") + kColumns, CityRows(0, 500));
  }
  static void TearDownTestSuite() { dir_.reset(); }

  static void Train(const std::string& name, const std::string& words, const std::string& rows) {
    std::ostringstream out, err;
    const int code = RunMain(
        "city",
        {"--data", dir_->Write("train.csv", rows), "--out", dir_->path() + "/" + name, "--threads",
         "1", "--batch_size", "50"},
        [&](const Config&) { return CityModel(words); }, out, err);
    ASSERT_EQ(code, 0) << err.str();
  }

  static ProgramRun Infer(const std::vector<std::string>& files, std::vector<std::string> more,
                          const std::string& model = "model") {
    std::vector<std::string> args = {"infer", dir_->path() + "/" + model};
    for (const std::string& file : files) args.insert(args.end(), {"--data", file});
    args.insert(args.end(), more.begin(), more.end());
    return RunForTest(args);
  }
  static json Report(const std::vector<std::string>& files, std::string* log = nullptr) {
    const ProgramRun run = Infer(files, {"--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    if (log != nullptr) *log = run.err;
    return run.code == 0 ? json::parse(run.out) : json();
  }
  // The lines of a file of predictions.
  static std::vector<std::string> Predictions(const std::vector<std::string>& files,
                                              std::vector<std::string> more = {},
                                              const std::string& model = "model") {
    const std::string path = dir_->path() + "/scores";
    more.insert(more.end(), {"--predictions", path});
    const ProgramRun run = Infer(files, more, model);
    EXPECT_EQ(run.code, 0) << run.err;
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  static inline std::unique_ptr<TempDir> dir_;
};

TEST_F(InferRowsTest, RowsWithoutALabelAreScoredWithoutTheMetricsThatNeedIt) {
  const std::string with = dir_->Write("with.csv", CityRows(0, 200));
  const std::string without = dir_->Write("without.csv", CityRows(0, 200, "id,name,city,x"));
  std::string log;
  const json all = Report({with}, &log), none = Report({without}, &log);
  EXPECT_THAT(log, HasSubstr("--data: the rows have no w, user, click: metrics that need it are "
                             "left out"));
  for (const char* const key : {"auc", "logloss", "accuracy", "gauc", "calibration", "deciles"}) {
    EXPECT_TRUE(all.contains(key)) << key;
    EXPECT_FALSE(none.contains(key)) << key;
  }
  for (const char* const key : {"examples", "skipped", "seconds", "examples_per_second", "step"}) {
    EXPECT_EQ(none.contains(key), true) << key;
  }
  EXPECT_EQ(none["examples"], 200);
  const ProgramRun table = Infer({without}, {});
  EXPECT_THAT(table.out, HasSubstr("\nexamples      200\n"));
  EXPECT_THAT(table.out, Not(HasSubstr("auc")));
  EXPECT_THAT(table.out, Not(HasSubstr("decile")));
  EXPECT_EQ(Predictions({without}), Predictions({with}));
  EXPECT_EQ(Predictions({without}).size(), 201u);
}

TEST_F(InferRowsTest, WithoutWeightAndGroupTheOtherMetricsStay) {
  const std::string with = dir_->Write("with.csv", CityRows(0, 200));
  const std::string no_user =
      dir_->Write("no_user.csv", CityRows(0, 200, "id,x,city,w,click,name"));
  const std::string no_weight =
      dir_->Write("no_weight.csv", CityRows(0, 200, "id,x,city,user,click,name"));
  const json all = Report({with}), ungrouped = Report({no_user}), unweighted = Report({no_weight});
  EXPECT_EQ(ungrouped["auc"], all["auc"]);
  EXPECT_EQ(ungrouped["deciles"], all["deciles"]);
  EXPECT_FALSE(ungrouped.contains("gauc"));
  EXPECT_TRUE(unweighted.contains("gauc"));
  EXPECT_NE(unweighted["logloss"], all["logloss"]);
}

TEST_F(InferRowsTest, FilesWithAndWithoutALabelAreRefused) {
  const std::string a = dir_->Write("a.csv", CityRows(0, 20));
  const std::string b = dir_->Write("b.csv", CityRows(20, 40, "id,x,city,w,user,name"));
  const ProgramRun run = Infer({a, b}, {});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr(fmt::format("--data: {} has all columns, {} has no click", a, b)));
  // Both without it are fine.
  const std::string c = dir_->Write("c.csv", CityRows(40, 50, "id,x,city,w,user,name"));
  EXPECT_EQ(Report({b, c})["examples"], 30);
}

TEST_F(InferRowsTest, AHeaderlessFileNeedsItsLabel) {
  std::string rows, unlabelled;
  for (int i = 0; i < 100; ++i) rows += CityRow(i, kAll);
  for (int i = 0; i < 100; ++i) unlabelled += CityRow(i, "id,x,city,w,user,name");
  Train("headerless", kColumns, rows);
  const ProgramRun run = Infer({dir_->Write("unlabelled.csv", unlabelled)}, {}, "headerless");
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("unlabelled.csv:1:"));
  EXPECT_THAT(run.err, HasSubstr("expected 7 columns, the line ends after 6"));
  EXPECT_EQ(Predictions({dir_->Write("labelled.csv", rows)}, {}, "headerless").size(), 101u);
}

TEST_F(InferRowsTest, KeptColumnsStandBesideTheScoresOfTheirRows) {
  const std::string a = dir_->Write("a.csv", CityRows(0, 100) + "bad,x,c1,1,u1,no,n\n");
  const std::string b = dir_->Write("b.csv", CityRows(100, 250));
  const std::string c = dir_->Write("c.csv", CityRows(250, 300));
  const std::vector<std::string> flags = {"--max_bad_rows", "1", "--batch_size", "17"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), flags.begin(), flags.end());
    return more;
  };
  const std::vector<std::string> lines = Predictions({a, b, c}, with({"--threads", "1"}));
  ASSERT_EQ(lines.size(), 301u);
  EXPECT_EQ(lines[0], "score\tid\tname");
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(lines[i + 1].ends_with(fmt::format("\trow{}\tn, {} .", i, i))) << lines[i + 1];
  }
  EXPECT_EQ(Predictions({a, b, c}, with({"--threads", "3"})), lines);
  EXPECT_EQ(Predictions({a, b, c}, with({"--threads", "2", "--in_memory"})).size(), lines.size());
  // In other batches a row has another neighbour but the same score, up to its last digits.
  std::map<std::string, double> scores;
  for (int i = 1; i <= 300; ++i) {
    scores[lines[i].substr(lines[i].find('\t'))] = std::strtod(lines[i].c_str(), nullptr);
  }
  const std::vector<std::string> other = Predictions({c, b}, {"--batch_size", "31"});
  ASSERT_EQ(other.size(), 201u);
  for (size_t i = 1; i < other.size(); ++i) {
    const std::string kept = other[i].substr(other[i].find('\t'));
    ASSERT_TRUE(scores.contains(kept)) << kept;
    EXPECT_NEAR(std::strtod(other[i].c_str(), nullptr), scores[kept], 1e-5) << kept;
  }
  EXPECT_GT(
      std::fabs(std::strtod(lines[1].c_str(), nullptr) - std::strtod(lines[4].c_str(), nullptr)),
      1e-3)
      << "scores differ";
}

TEST_F(InferRowsTest, KeptColumnsAreNotCached) {
  const std::string rows = dir_->Write("rows.csv", CityRows(0, 20));
  const std::string cache = dir_->path() + "/cache";
  const ProgramRun run =
      Infer({rows}, {"--cache", cache, "--predictions", dir_->path() + "/scores"});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("--cache does not hold the columns"));
  EXPECT_EQ(Infer({rows}, {"--cache", cache}).code, 0);
  // Rows without labels are not those of the cache.
  const std::string unlabelled = dir_->Write("rows.csv", CityRows(0, 20, "x,city,w,user"));
  EXPECT_EQ(Infer({unlabelled}, {"--cache", cache}).code, 0);
}

}  // namespace
}  // namespace flotilla
