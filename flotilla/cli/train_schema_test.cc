// `flotilla train MODEL` on files that describe themselves or have a schema.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "flotilla/base/hash.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/fleet/command_line.h"

namespace flotilla {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Rows "u7,i3,2.5,1": a click is likely if the user's and the item's number are equal modulo 5.
std::string ClickRows(uint64_t seed, int rows,
                      const std::string& header = "user,item,price,click\n") {
  std::string text = header;
  for (int row = 0; row < rows; ++row) {
    const uint64_t bits = Mix64(seed * 1000003 + static_cast<uint64_t>(row));
    const int user = static_cast<int>(bits % 60), item = static_cast<int>((bits >> 8) % 30);
    const bool click = (bits >> 20) % 10 < (user % 5 == item % 5 ? 9u : 1u);
    text += fmt::format("u{},i{},{}.5,{}\n", user, item, (bits >> 30) % 7, click ? 1 : 0);
  }
  return text;
}

class TrainSchemaTest : public ::testing::Test {
 protected:
  static ProgramRun Train(const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), {"train", model});
    more.insert(more.end(), {"--threads", "1"});
    return RunForTest(more);
  }
  static json Json(const std::string& model, std::vector<std::string> more) {
    more.emplace_back("--json");
    const ProgramRun run = Train(model, std::move(more));
    EXPECT_EQ(run.code, kSuccess) << run.err;
    return run.code == kSuccess ? json::parse(run.out) : json();
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  const TempDir dir_;
  const std::string train_ = dir_.Write("train.csv", ClickRows(1, 6000));
  const std::string test_ = dir_.Write("test.csv", ClickRows(2, 1000));
};

TEST_F(TrainSchemaTest, TheLabelAndItsTaskAreNamed) {
  const std::string schema = dir_.Write("s", "header=yes user:category item:category click:label");
  const auto log_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"--data", train_, "--epochs", "1"};
    args.insert(args.end(), more.begin(), more.end());
    return Train("lr", std::move(args)).err;
  };
  EXPECT_THAT(log_of({}), HasSubstr("label click (its name says so): a click, 2"));
  EXPECT_THAT(log_of({}), HasSubstr(" % of the rows are 1; --label changes it"));
  EXPECT_THAT(log_of({"--schema", schema}), HasSubstr("label click (the schema says so): a click"));
  EXPECT_THAT(log_of({"--label", "price"}),
              HasSubstr("label price (--label says so): a regression, mean 3."));
  const std::string rows = dir_.Write("rows.svm", "1 2:1\n-1 3:1\n-1 2:1\n");
  EXPECT_THAT(Train("lr", {"--data", rows, "--epochs", "1"}).err,
              HasSubstr("label (the first number of a row): a click, 33.3 % of the rows are 1"));
}

TEST_F(TrainSchemaTest, AStrayValueOfTheLabelIsNamed) {
  const std::string rows = dir_.Write("stray.csv", ClickRows(1, 6000) + "u1,i1,2.5,2\n");
  const std::string log = Train("lr", {"--data", rows, "--epochs", "1"}).err;
  EXPECT_THAT(log, HasSubstr("label click: '2' has 1 of 6001 rows, and the task is regression"));
}

TEST_F(TrainSchemaTest, ACsvFileNeedsNothingElse) {
  const json linear = Json("lr", {"--data", train_, "--test", test_});
  const json pairs = Json("fm", {"--data", train_, "--test", test_, "--epochs", "6", "--optimizer",
                                 "adam", "--learning_rate", "0.01", "--embedding_l2", "0"});
  EXPECT_LT(linear["auc"], 0.6) << "the effect is one of pairs";
  EXPECT_GT(pairs["auc"], 0.8);
  EXPECT_EQ(linear["batch_size"], 6000 / 500);
}

TEST_F(TrainSchemaTest, UnknownParametersOfTheFormatAreErrorsOfEveryKindOfRows) {
  const auto error = [&](std::vector<std::string> more) {
    const ProgramRun run = Train("lr", std::move(more));
    EXPECT_EQ(run.code, kFailure);
    return run.err;
  };
  const std::string schema = dir_.Write("s", "user:id item:id price:number click:label\n");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--format", "csv"}, {}, {"--schema", schema}}) {
    std::vector<std::string> args = {"--data", train_, "--format_param", "delimeter=x"};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_THAT(error(args), HasSubstr("csv: unknown parameter delimeter; known: schema, "));
    args[3] = "statistic_file=x";
    EXPECT_THAT(error(args),
                HasSubstr("csv: unknown parameter statistic_file, did you mean statistics_file?"));
  }
  const std::string libsvm = dir_.Write("rows", "1 1:2 3:4\n0 2:2 3:1\n");
  EXPECT_THAT(error({"--data", libsvm, "--format_param", "lables=whole"}),
              HasSubstr("libsvm: unknown parameter lables, did you mean labels?"));
}

// The same rows in the forms in which people have them.
TEST_F(TrainSchemaTest, HowAFileIsWrittenDoesNotMatter) {
  const std::string rows = ClickRows(3, 600);
  // Every line with another start, end and delimiter.
  const auto written = [&](const std::string& start, const std::string& end, char delimiter) {
    std::string text;
    for (std::istringstream lines(rows); !lines.eof();) {
      std::string line;
      if (!std::getline(lines, line)) break;
      std::replace(line.begin(), line.end(), ',', delimiter);
      text += start + line + end;
    }
    return text;
  };
  const auto loss = [&](const std::string& name, const std::string& text) {
    return Json("fm", {"--data", dir_.Write(name, text), "--deterministic"})["train_loss"];
  };
  const json plain = loss("plain.csv", rows);
  EXPECT_TRUE(plain.is_number());
  EXPECT_EQ(loss("mark.csv", "\xef\xbb\xbf" + rows), plain);
  EXPECT_EQ(loss("crlf.csv", written("", "\r\n", ',')), plain);
  EXPECT_EQ(loss("blank_lines.csv", written("", "\n\n", ',')), plain);
  EXPECT_EQ(loss("tabs.tsv", written("", "\n", '\t')), plain);
  EXPECT_EQ(loss("semicolons.csv", written("", "\n", ';')), plain);
  EXPECT_EQ(loss("trailing.csv", written("", ",\n", ',')), plain);
  EXPECT_EQ(loss("leading.csv", written(",", "\n", ',')), plain);
  EXPECT_EQ(loss("no_end.csv", rows.substr(0, rows.size() - 1)), plain);
  std::string quoted = rows;
  for (size_t at = 0; (at = quoted.find(",i", at)) != std::string::npos; at += 3) {
    quoted.insert(quoted.find(',', at + 1), "\"");
    quoted.insert(at + 1, "\"");
  }
  EXPECT_EQ(loss("quoted.csv", quoted), plain);
}

TEST_F(TrainSchemaTest, PartsMayBeEmpty) {
  const json whole = Json("fm", {"--data", train_, "--deterministic"});
  const std::string empty = dir_.Write("0.csv", ""),
                    header = dir_.Write("1.csv", "user,item,price,click\n");
  const json parts = Json("fm", {"--data", empty, header, train_, "--deterministic"});
  EXPECT_EQ(parts["examples"], whole["examples"]);
  EXPECT_THAT(Train("fm", {"--data", empty}).err, HasSubstr(empty + ": the file has no rows"));
  EXPECT_THAT(Train("fm", {"--data", train_, "--test", header}).err,
              HasSubstr("no rows in --test, 1 file(s), first " + header));
}

TEST_F(TrainSchemaTest, AHeaderInsideAFileIsABadRow) {
  const std::string joined = dir_.Write("joined.csv", ClickRows(1, 300) + ClickRows(2, 300));
  const ProgramRun run = Train("fm", {"--data", joined});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr(joined + ":302:1: the header again, 'user,item,price,click'"));
  const json allowed = Json("fm", {"--data", joined, "--max_bad_rows", "1", "--epochs", "1"});
  EXPECT_EQ(allowed["examples"], 600);
  EXPECT_TRUE(allowed["auc"].is_number()) << "no third class";
}

TEST_F(TrainSchemaTest, LongSequencesAreCutAndCounted) {
  std::string text = "item,seen,click\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("i{},i1|i2|i{},{}\n", i % 5, i % 7, i % 2);
  const std::string file = dir_.Write("seen.csv", text),
                    schema = dir_.Write("seen.schema",
                                        "header=yes item:category(vocabulary=goods) "
                                        "seen:sequence(vocabulary=goods,length=2) click:label");
  const std::string out = Path("cut");
  const ProgramRun run = Train("din", {"--data", file, "--schema", schema, "--out", out});
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.err, HasSubstr("column seen: 60 of 60 sequences are longer than 2"));
  EXPECT_THAT(RunForTest({"infer", out, "--data", file}).err,
              HasSubstr("--data: 60 sequences were longer than the length in the schema"));
}

TEST_F(TrainSchemaTest, PredictionsOfClassesHaveAColumnForEach) {
  std::string text = "item,size\n";
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("i{},{}\n", i % 3, i % 3 == 0 ? "small" : i % 3 == 1 ? "large" : "medium");
  }
  const std::string rows = dir_.Write("sizes.csv", text), out = Path("sizes");
  ASSERT_EQ(Train("lr", {"--data", rows, "--label", "size", "--out", out}).code, kSuccess);
  const std::string scores = Path("scores");
  const ProgramRun run = RunForTest({"infer", out, "--data", rows, "--predictions", scores});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  std::istringstream lines(*ReadWholeFile(scores, 1 << 20));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "large\tmedium\tsmall");
  double large = 0, medium = 0, small = 0;
  ASSERT_TRUE(lines >> large >> medium >> small);
  EXPECT_NEAR(large + medium + small, 1, 1e-5);
  EXPECT_GT(small, large) << "the first row is small";
  EXPECT_GT(small, medium);
}

TEST_F(TrainSchemaTest, AFileWithoutRowsHasNoScores) {
  const std::string out = Path("model"), scores = Path("scores");
  ASSERT_EQ(Train("lr", {"--data", train_, "--out", out, "--epochs", "1"}).code, kSuccess);
  const std::string header = dir_.Write("header.csv", "user,item,price\n");
  for (const char* where : {"--in_memory", "--no_in_memory"}) {
    const ProgramRun run =
        RunForTest({"infer", out, "--data", header, "--predictions", scores, where});
    EXPECT_EQ(run.code, kSuccess) << run.err;
    EXPECT_THAT(run.out, HasSubstr("examples      0\n"));
    EXPECT_EQ(*ReadWholeFile(scores, 100), "");
  }
}

TEST_F(TrainSchemaTest, DecimalCommasThatAreWordsAreNamed) {
  std::string text = "price,click\n";
  for (int i = 0; i < 200; ++i) text += fmt::format("\"{},5\",{}\n", i % 40, i % 2);
  EXPECT_THAT(Train("lr", {"--data", dir_.Write("commas.csv", text), "--epochs", "1"}).err,
              HasSubstr("column price: 200 of its 200 values have decimal commas"));
}

TEST_F(TrainSchemaTest, TheModelKnowsItsSchema) {
  const std::string out = Path("model");
  const json trained = Json("lr", {"--data", train_, "--test", test_, "--out", out});
  // Columns in another order, and one more.
  const std::string other =
      dir_.Write("other.csv", "click,extra,item,user,price\n1,x,i3,u8,2.5\n0,y,i3,u9,2.5\n");
  const ProgramRun run = RunForTest({"infer", out, "--data", test_, "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(json::parse(run.out)["auc"], trained["auc"]);
  EXPECT_EQ(RunForTest({"infer", out, "--data", other}).code, kSuccess);
}

TEST_F(TrainSchemaTest, StatisticsAreKeptBesideTheSchemaAndBelongToTheirFiles) {
  const std::string schema = Path("clicks.schema");
  ASSERT_EQ(RunForTest({"data", "schema", train_, "--out", schema}).code, kSuccess);
  const json first = Json("lr", {"--data", train_, "--schema", schema});
  EXPECT_TRUE(ReadWholeFile(schema + ".stats", 1 << 20).ok());
  EXPECT_EQ(Json("lr", {"--data", train_, "--schema", schema})["train_loss"], first["train_loss"]);
  const ProgramRun other = Train("lr", {"--data", test_, "--schema", schema});
  EXPECT_EQ(other.code, kSuccess) << other.err;
  EXPECT_THAT(other.err, HasSubstr("collecting the statistics again: it was made from train.csv"));
}

TEST_F(TrainSchemaTest, ARunThatStartsFromAModelReadsRowsAsItDid) {
  const std::string out = Path("model");
  ASSERT_EQ(Train("lr", {"--data", train_, "--out", out, "--epochs", "3"}).code, kSuccess);
  // Other files have other vocabularies; ids must keep their meaning.
  const ProgramRun more =
      Train("lr", {"--data", test_, "--init_model", out, "--out", Path("more")});
  ASSERT_EQ(more.code, kSuccess) << more.err;
  EXPECT_THAT(more.err, HasSubstr("rows are read as the saved model's were"));
  const ProgramRun resumed =
      Train("lr", {"--data", train_, "--out", out, "--resume", "--epochs", "4"});
  ASSERT_EQ(resumed.code, kSuccess) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("epoch 3 finished"));
}

TEST_F(TrainSchemaTest, AResumedRunSaysWhatDiffersFromTheSavedOne) {
  const std::string out = Path("model");
  const std::vector<std::string> args = {"--data", train_, "--out", out, "--batch_size", "100"};
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), args.begin(), args.end());
    return Train("lr", std::move(more)).err;
  };
  train({"--epochs", "2"});
  EXPECT_THAT(train({"--epochs", "3", "--resume"}), Not(HasSubstr("differs from the saved one")));
  const std::string log = train({"--epochs", "3", "--resume", "--learning_rate", "0.25"});
  EXPECT_THAT(log, HasSubstr("this run differs from the saved one: --learning_rate was "));
  EXPECT_THAT(log, HasSubstr(", now 0.25"));
  EXPECT_THAT(Train("lr", {"--data", test_, "--out", out, "--resume", "--epochs", "3",
                           "--batch_size", "100"})
                  .err,
              HasSubstr("--data was 1 file, "));
}

TEST_F(TrainSchemaTest, AnotherModelIsNamedBeforeItsOptimizer) {
  const std::string out = Path("model");
  ASSERT_EQ(Train("fm", {"--data", train_, "--out", out, "--epochs", "1"}).code, kSuccess);
  EXPECT_THAT(Train("lr", {"--data", train_, "--out", out, "--resume", "--optimizer", "sgd"}).err,
              HasSubstr("it holds fm, which does not fit this model: not in this model: "));
  const ProgramRun run = RunForTest({"inspect", out});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.out, HasSubstr("kind            fm\n"));
  EXPECT_THAT(run.out, HasSubstr("label           click: a click, "));
  const json inspected = json::parse(RunForTest({"inspect", out, "--json"}).out);
  EXPECT_EQ(inspected["kind"], "fm");
  EXPECT_EQ(inspected["labels"][0]["name"], "click");
}

TEST_F(TrainSchemaTest, EpochsThatAreNotGivenDependOnTheNumberOfRows) {
  EXPECT_EQ(Json("lr", {"--data", train_})["epochs"], 15) << "few rows";
  EXPECT_EQ(Json("lr", {"--data", train_, "--epochs", "2"})["epochs"], 2);
  EXPECT_EQ(Json("dcnv2", {"--data", train_})["epochs"], 1) << "the recipe of a network";
}

TEST_F(TrainSchemaTest, ARunThatStartsFromAModelRefusesToReadRowsOtherwise) {
  const std::string out = Path("model"), schema = Path("clicks.schema");
  ASSERT_EQ(RunForTest({"data", "schema", train_, "--out", schema}).code, kSuccess);
  ASSERT_EQ(Train("lr", {"--data", train_, "--schema", schema, "--out", out, "--epochs", "3"}).code,
            kSuccess);
  const auto resumed = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--data", train_, "--out", out, "--resume", "--epochs", "4"});
    return Train("lr", std::move(more)).err;
  };
  EXPECT_THAT(resumed({"--label", "price"}),
              HasSubstr("--label price: the saved model predicts click: leave the flag out"));
  EXPECT_THAT(resumed({"--task", "regression"}),
              HasSubstr("--task regression: the task of the saved model is click"));
  const std::string other = dir_.Write("other.schema", "header=yes user:category click:label");
  EXPECT_THAT(resumed({"--schema", other}), HasSubstr("the saved model has another schema"));
  const ProgramRun same = Train("lr", {"--data", train_, "--out", out, "--resume", "--epochs", "4",
                                       "--schema", schema, "--label", "click", "--test", test_});
  EXPECT_EQ(same.code, kSuccess) << same.err;
  EXPECT_THAT(same.err, HasSubstr("epoch 3 finished"));
}

TEST_F(TrainSchemaTest, TheLabelDecidesTheLoss) {
  const json price = Json(
      "wide_deep", {"--data", train_, "--label", "price", "--task", "regression", "--epochs", "1"});
  EXPECT_TRUE(price["rmse"].is_number());
  EXPECT_FALSE(price.contains("calibration"));
  EXPECT_LT(price["rmse"], 3) << "the deviation is 2";
  const json classes = Json("lr", {"--data", train_, "--task", "classes"});
  EXPECT_TRUE(classes["logloss"].is_number());
  EXPECT_TRUE(classes["auc"].is_null());
  const std::string one = dir_.Write("one.csv", "user,click\na,1\nb,1\n");
  EXPECT_THAT(Train("lr", {"--data", one, "--label", "click"}).err,
              HasSubstr("every row has the same value, '1'"));
  EXPECT_THAT(Train("fm", {"--data", train_, "--label", "item"}).err,
              HasSubstr("has 30 classes: use one of lr, wide_deep, dcnv2, din"));
}

TEST_F(TrainSchemaTest, LabelsAreChosenByName) {
  const std::string schema =
      dir_.Write("two.schema", "header=yes user:category item:category price:label click:label");
  const ProgramRun run = Train("lr", {"--data", train_, "--schema", schema});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("the data has 2 (price, click): name it with --label"));
  EXPECT_GT(Json("lr", {"--data", train_, "--schema", schema, "--label", "click"})["auc"], 0.4);
  EXPECT_THAT(Train("lr", {"--data", train_, "--schema", schema, "--label", "user"}).err,
              HasSubstr("--label user: the label of the schema is price, click"));
}

TEST_F(TrainSchemaTest, LibsvmAndLibffmDescribeThemselves) {
  std::string svm, ffm;
  for (int row = 0; row < 4000; ++row) {
    const uint64_t bits = Mix64(static_cast<uint64_t>(row));
    const int a = static_cast<int>(bits % 8), b = static_cast<int>((bits >> 8) % 8);
    const int label = (a + b) % 2 == 0 ? 1 : 2;
    svm += fmt::format("{} {}:1 {}:1\n", label, a, 10 + b);
    ffm += fmt::format("{} 0:{}:1 1:{}:1\n", label, a, 10 + b);
  }
  for (const std::string& file : {dir_.Write("rows.svm", svm), dir_.Write("rows.ffm", ffm)}) {
    EXPECT_GT(Json("ffm", {"--data", file})["train_auc"], 0.99) << file;
    EXPECT_LT(Json("lr", {"--data", file})["train_auc"], 0.6) << file;
  }
  const std::string uneven = dir_.Write("uneven.svm", svm + "1 3:1\n");
  const ProgramRun refused = Train("ffm", {"--data", uneven});
  EXPECT_EQ(refused.code, kFailure);
  EXPECT_THAT(refused.err, HasSubstr("use lr or fm"));
  EXPECT_EQ(Train("fm", {"--data", uneven}).code, kSuccess);
}

TEST_F(TrainSchemaTest, MistakesNameTheFlagOrTheColumn) {
  const auto error = [&](const std::string& model, std::vector<std::string> more) {
    const ProgramRun run = Train(model, std::move(more));
    EXPECT_NE(run.code, kSuccess);
    return run.err;
  };
  EXPECT_THAT(error("lr", {"--data", train_, "--label", "clik"}),
              HasSubstr("there is no column 'clik'; the columns are user, item, price, click"));
  EXPECT_THAT(error("lr", {"--data", "-"}), HasSubstr("standard input cannot be"));
  EXPECT_THAT(error("lr", {"--data", train_, "--schema", Path("none")}), HasSubstr("no such file"));
  EXPECT_THAT(error("lr", {"--data", train_, "--schema", "criteo", "--format", "libsvm"}),
              HasSubstr("--schema describes csv and tsv rows"));
  EXPECT_THAT(error("din", {"--data", train_}), HasSubstr("din needs a category and a sequence"));
  EXPECT_THAT(error("lr", {"--data", train_, "--schedule", "cosine"}),
              HasSubstr("--schedule_steps"));
  EXPECT_THAT(error("lr", {"--data", train_, "--test", test_, "--watch", "gauc"}),
              HasSubstr("the model has no metric 'gauc'"));
  const std::string slots = dir_.Write("slots", "1 5 1 1\n1 6 1 0\n");
  EXPECT_THAT(error("lr", {"--data", slots}), HasSubstr("do not say what they hold"));
  const std::string weights = dir_.Write("weights.csv", "user,w,click\na,1,1\nb,-2,0\n");
  const std::string schema =
      dir_.Write("w.schema", "header=yes user:category w:weight click:label");
  EXPECT_THAT(error("lr", {"--data", weights, "--schema", schema}),
              HasSubstr(weights + ":3:3: column w"));
}

TEST_F(TrainSchemaTest, EveryProcessOfAJobNeedsTheSameStatistics) {
  const std::string schema = dir_.Write("s", "header=yes user:category click:label");
  const ProgramRun run =
      Train("lr", {"--data", train_, "--schema", schema, "--mode", "sync", "--role", "trainer",
                   "--role_index", "0", "--servers", "127.0.0.1:1", "--trainers", "1"});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("`flotilla data stats TRAINING_FILES --schema FILE`"));
}

}  // namespace
}  // namespace flotilla
