#include "flotilla/dataset/prepare/describe_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/parser_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Feature::Kind;
using Params = std::map<std::string, std::string>;

// The inputs that a model of these features declares.
std::vector<InputSpec> InputsOf(const Features& features) {
  std::vector<InputSpec> inputs;
  for (const Feature& feature : features.features) {
    const bool number = feature.kind == Kind::kNumber;
    inputs.push_back(
        {feature.input, number ? InputKind::kDense : InputKind::kIds, number ? feature.width : 1});
  }
  for (const LabelFeature& label : features.labels) {
    inputs.push_back({label.input, InputKind::kLabel, 1});
  }
  if (!features.group.empty()) inputs.push_back({features.group, InputKind::kIds, 1});
  return inputs;
}

// "F0:id words:bag(weighted)"
std::string FeaturesText(const Features& features) {
  std::vector<std::string> texts;
  for (const Feature& feature : features.features) {
    EXPECT_EQ(feature.vocabulary, "features");
    texts.push_back(fmt::format("{}:{}{}", feature.input, feature.kind == Kind::kId ? "id" : "bag",
                                feature.weighted ? "(weighted)" : ""));
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

class DescribeRowsTest : public ::testing::Test {
 protected:
  StatusOr<DescribedRows> Describe(const std::string& format, const std::string& rows,
                                   Params params = {}, DescribeRowsOptions options = {}) {
    const std::string file = dir_.Write("rows", rows);
    return DescribeRows({.format = format, .params = std::move(params)}, {file}, options);
  }
  // The description, whose parser must take all rows; *parsed becomes their texts.
  DescribedRows Described(const std::string& format, const std::string& rows, Params params = {},
                          DescribeRowsOptions options = {},
                          std::vector<std::string>* parsed = nullptr) {
    const StatusOr<DescribedRows> described = Describe(format, rows, std::move(params), options);
    EXPECT_TRUE(described.ok()) << described.status();
    if (!described.ok()) return {};
    EXPECT_EQ(described->features.id_rows, 0);
    const auto parser = MakeParser(described->format, InputsOf(described->features));
    EXPECT_TRUE(parser.ok()) << parser.status();
    if (!parser.ok()) return *described;
    std::vector<std::string> lines;
    std::istringstream text(rows);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    const std::vector<std::string> texts = RowsOf(**parser, lines);
    EXPECT_EQ(described->features.rows, static_cast<int64_t>(texts.size()));
    if (parsed != nullptr) *parsed = texts;
    return *described;
  }
  std::string ErrorOf(const std::string& format, const std::string& rows, Params params = {},
                      DescribeRowsOptions options = {}) {
    return std::string(Message(Describe(format, rows, std::move(params), options).status()));
  }

  const TempDir dir_;
};

TEST_F(DescribeRowsTest, LibsvmRowsOfAnyLengthAreABag) {
  std::vector<std::string> rows;
  const DescribedRows described =
      Described("libsvm", "-1 3:1 11:1\n# no row\n\n+1 5:1\n-1\n+1 2:1 7:1\n", {}, {}, &rows);
  EXPECT_EQ(FeaturesText(described.features), "features:bag");
  EXPECT_EQ(described.format.params, (Params{{"labels", "binary"}}));
  EXPECT_THAT(described.features.labels,
              ElementsAre(LabelFeature{.input = "label", .classes = 2, .mean = 0.5}));
  EXPECT_EQ(described.features.group, "");
  EXPECT_EQ(rows[0], "features=3,11 label=0");
  EXPECT_EQ(FeaturesText(Described("libsvm", "0 3:0.5 11:1\n1 5:1\n").features),
            "features:bag(weighted)");
  EXPECT_EQ(FeaturesText(Described("libsvm", "0 3:1\n1 5:1\n").features), "features:bag")
      << "one position is not a field";
}

TEST_F(DescribeRowsTest, RowsAndTheMeanNumberOfIdsOfABagAreCounted) {
  const Features bag = Described("libsvm", "0 3:1 11:1\n1 5:1\n").features;
  EXPECT_EQ(bag.rows, 2);
  EXPECT_DOUBLE_EQ(bag.features[0].mean_ids, 1.5);
  const Features fields = Described("libffm", "0 0:3:1 0:4:1 1:5:1\n1 1:6:1\n").features;
  EXPECT_EQ(fields.rows, 2);
  EXPECT_DOUBLE_EQ(fields.features[0].mean_ids, 1);
  EXPECT_DOUBLE_EQ(fields.features[1].mean_ids, 1);
  EXPECT_DOUBLE_EQ(
      Described("libffm", "0 0:3:1 0:4:1 1:5:1\n1 0:8:1 1:6:1\n").features.features[0].mean_ids,
      1.5);
}

TEST_F(DescribeRowsTest, LibsvmRowsOfOneLengthHaveAnInputPerPosition) {
  std::vector<std::string> rows;
  const std::string text = "0 3:1 11:1 20:1\n1 5:1 6:0 7:1 9:2\n";
  const DescribedRows described = Described("libsvm", text, {}, {}, &rows);
  EXPECT_EQ(FeaturesText(described.features), "F0:id F1:id F2:bag(weighted)");
  EXPECT_EQ(described.format.params, (Params{{"labels", "binary"}, {"positions", "3"}}));
  EXPECT_THAT(rows, ElementsAre("F0=3 F1=11 F2=20:1 label=0", "F0=5 F1=7 F2=9:2 label=1"));
  // A model without fields wants the bag.
  EXPECT_EQ(FeaturesText(Described("libsvm", text, {}, {.positions = false}).features),
            "features:bag(weighted)");
  EXPECT_EQ(FeaturesText(Described("libsvm", text, {{"positions", "0"}}).features),
            "features:bag(weighted)");
  std::string wide = "0", long_rows = "1";
  for (int i = 0; i < 65; ++i) wide += fmt::format(" {}:1", i + 1);
  for (int i = 0; i < 65; ++i) long_rows += fmt::format(" {}:1", i + 9);
  EXPECT_EQ(FeaturesText(Described("libsvm", wide + "\n" + long_rows + "\n").features),
            "features:bag");
}

TEST_F(DescribeRowsTest, GivenPositionsMakeOtherRowsBad) {
  const std::string text = "0 3:1 11:1\n1 5:1\n1 7:1 9:1\n";
  EXPECT_THAT(ErrorOf("libsvm", text, {{"positions", "2"}}),
              HasSubstr("rows:2:6: expected 2 features, as in every row of training, found 1"));
  const auto described = Describe("libsvm", text, {{"positions", "2"}}, {.max_bad_rows = 1});
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(FeaturesText(described->features), "F0:id F1:id");
  EXPECT_DOUBLE_EQ(described->features.labels[0].mean, 0.5) << "the bad row does not count";
}

TEST_F(DescribeRowsTest, QueriesAreGroups) {
  std::vector<std::string> rows;
  const DescribedRows described =
      Described("libsvm", "0 qid:7 3:1\n1 qid:8 5:1 9:1\n", {}, {}, &rows);
  EXPECT_EQ(described.features.group, "group");
  EXPECT_EQ(described.format.params, (Params{{"group", "group"}, {"labels", "binary"}}));
  EXPECT_THAT(rows, ElementsAre("features=3 label=0 group=7", "features=5,9 label=1 group=8"));
  EXPECT_EQ(Described("libsvm", "0 qid:7 3:1\n1 qid:8\n", {{"group", "user"}}).features.group,
            "user");
  EXPECT_THAT(ErrorOf("libsvm", "0 qid:7 3:1\n1 5:1 9:1\n"),
              HasSubstr("1 of 2 rows have a group, qid:<number>: all of them must, or none"));
  EXPECT_THAT(ErrorOf("libsvm", "0 3:1\n1 5:1 9:1\n", {{"group", "user"}}),
              HasSubstr("group is given, and no row has qid:<number>"));
}

TEST_F(DescribeRowsTest, LibffmFieldsAreInputs) {
  std::vector<std::string> rows;
  const DescribedRows described =
      Described("libffm", "1 1:10:1 1:11:1 3:30:0.5\n0 3:31:1\n", {}, {}, &rows);
  EXPECT_EQ(FeaturesText(described.features), "F1:bag F3:bag(weighted)");
  EXPECT_EQ(described.format.params, (Params{{"labels", "binary"}, {"single", "no"}}));
  EXPECT_THAT(rows, ElementsAre("F1=10,11 F3=30:0.5 label=1", "F1= F3=31:1 label=0"));
}

TEST_F(DescribeRowsTest, LibffmFieldsWithOneFeatureInEveryRowAreSingle) {
  const DescribedRows described = Described("libffm", "1 0:10:1 2:30:1\n0 0:11:1 2:30:0.5\n");
  EXPECT_EQ(FeaturesText(described.features), "F0:id F2:bag(weighted)");
  EXPECT_EQ(described.format.params.at("single"), "yes");
  // Two features in one row and none in another are as many as rows.
  EXPECT_EQ(Described("libffm", "1 0:1:1\n0 0:1:1 0:2:1\n1\n").format.params.at("single"), "no");
  EXPECT_EQ(FeaturesText(Described("libffm", "1 0:10:1\n0 0:11:1\n", {{"single", "no"}}).features),
            "F0:bag");
  EXPECT_THAT(ErrorOf("libffm", "1 0:10:1\n0\n", {{"single", "yes"}}),
              HasSubstr("input F0 does not have one feature in every row: 1 of 2 rows have it"));
}

TEST_F(DescribeRowsTest, AListOfFieldsIsKept) {
  const DescribedRows described =
      Described("libffm", "1 0:10:1 1:5:1\n0 0:11:1 1:6:1\n", {{"fields", "user,-,item"}});
  EXPECT_EQ(FeaturesText(described.features), "user:bag item:bag");
  EXPECT_EQ(described.format.params.at("single"), "no") << "no row has an item";
  EXPECT_THAT(ErrorOf("libffm", "1 0:10:1 3:5:1\n", {{"fields", "user,-,item"}}),
              HasSubstr("rows:1:10: field 3 has no input in the model"));
}

TEST_F(DescribeRowsTest, AllRowsDecideTheLabelAndItsParameter) {
  const auto label = [&](const std::string& values, Params params = {},
                         std::optional<LabelTask> task = {}) {
    std::string rows;
    for (const char value : values)
      rows += value == '-' ? "-1 0:1:1\n" : fmt::format("{} 0:1:1\n", value);
    const DescribedRows described = Described("libffm", rows, std::move(params), {.task = task});
    if (described.features.labels.empty()) return std::string();
    const LabelFeature& feature = described.features.labels[0];
    return fmt::format("{} {} {} {:.2f}", NameOf(feature.task),
                       described.format.params.at("labels"), feature.classes, feature.mean);
  };
  EXPECT_EQ(label("0100"), "click binary 2 0.25");
  EXPECT_EQ(label("-111"), "click binary 2 0.75");
  EXPECT_EQ(label("1121"), "click 1,2 2 0.25");
  EXPECT_EQ(label("-0-0"), "click -1,0 2 0.50");
  EXPECT_EQ(label("1234"), "regression number 0 2.50");
  EXPECT_EQ(label("1352", {}, LabelTask::kClasses), "classes 1,2,3,5 4 0.00");
  EXPECT_EQ(label("1122", {}, LabelTask::kRegression), "regression number 0 1.50");
  EXPECT_EQ(label("1122", {}, LabelTask::kClasses), "classes 1,2 2 0.00");
  // Given parameters stay.
  EXPECT_EQ(label("-011", {{"labels", "binary"}}), "click binary 2 0.50");
  EXPECT_EQ(label("2221", {{"labels", "2,1"}}), "click 2,1 2 0.25");
  EXPECT_EQ(label("2221", {{"labels", "1,2,3"}}), "classes 1,2,3 3 0.00");
  EXPECT_EQ(label("0120", {{"labels", "whole"}}, LabelTask::kClasses), "classes whole 3 0.00");
  EXPECT_EQ(label("1350", {{"labels", "whole"}}), "regression whole 0 2.25");
}

TEST_F(DescribeRowsTest, LabelsThatTeachNothingOrContradictTheTaskAreErrors) {
  EXPECT_THAT(ErrorOf("libsvm", "1 3:1\n1 5:1\n"),
              HasSubstr("label: every row has the same value, '1': there is nothing to learn"));
  EXPECT_THAT(ErrorOf("libsvm", "1 3:1\n2 5:1\n3 5:1\n", {}, {.task = LabelTask::kClick}),
              HasSubstr("label: a click has two values, and it has 3"));
  EXPECT_THAT(ErrorOf("libsvm", "1 3:1\n2 5:1\n", {{"labels", "whole"}}),
              HasSubstr("label: labels=whole leaves the labels as they are, and classes are "
                        "numbered from 0, not 1: leave the parameter out, or list the labels: "
                        "labels=1,2"));
  EXPECT_THAT(ErrorOf("libsvm", "a 3:1\n"), HasSubstr("rows:1:1: label: expected a number"));
  EXPECT_THAT(ErrorOf("libsvm", "1 3:1\n", {{"labels", "x"}}),
              HasSubstr("libsvm: labels: 'x' is not one of binary, whole, number, or"));
  EXPECT_THAT(ErrorOf("libsvm", "# nothing\n"), HasSubstr("rows: there is no row in the files"));
  EXPECT_THAT(ErrorOf("libsvm", "1\n0 7:0\n"), HasSubstr("rows: no row has a feature"));
  EXPECT_THAT(ErrorOf("multislot", "1\n"), HasSubstr("format multislot do not define"));
}

TEST_F(DescribeRowsTest, BadRowsAreSkippedUpToTheirLimit) {
  const std::string rows = "1 3:1\nbad\n0 5:1 7\n0 5:1\n";
  EXPECT_THAT(ErrorOf("libsvm", rows, {}, {.max_bad_rows = 1}), HasSubstr("rows:2:1: label"));
  std::vector<std::string> log;
  const auto described =
      Describe("libsvm", rows, {},
               {.max_bad_rows = 2, .log = [&](std::string_view line) { log.emplace_back(line); }});
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_DOUBLE_EQ(described->features.labels[0].mean, 0.5);
  EXPECT_THAT(log, ElementsAre(HasSubstr("skipped " + dir_.path() + "/rows:3:7: expected")));
}

TEST_F(DescribeRowsTest, SeveralThreadsFindTheSame) {
  std::string rows;
  for (int i = 0; i < 20000; ++i) {
    rows += fmt::format("{} {}:{}:1 {}:{}:{}\n", i % 7 * 0.1, i % 5, i, 5 + i % 3, i,
                        i % 9 == 0 ? 0.5 : 1.0);
  }
  const DescribedRows one = Described("libffm", rows),
                      three = Described("libffm", rows, {}, {.threads = 3});
  EXPECT_EQ(one.format, three.format);
  EXPECT_EQ(one.features, three.features);
  EXPECT_EQ(one.features.features.size(), 8u);
}

TEST_F(DescribeRowsTest, RealRowsHaveTheirFieldsOrABag) {
  const char* const data = std::getenv("FLOTILLA_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "skipped: no data (FLOTILLA_TEST_DATA)";
  const std::string dir = std::string(data) + "/other/";
  const auto frappe = DescribeRows({.format = "libsvm"}, {dir + "frappe.validation.libfm.zst"}, {});
  ASSERT_TRUE(frappe.ok()) << frappe.status();
  EXPECT_EQ(FeaturesText(frappe->features),
            "F0:id F1:id F2:id F3:id F4:id F5:id F6:id F7:id F8:id F9:id");
  EXPECT_EQ(frappe->format.params, (Params{{"labels", "binary"}, {"positions", "10"}}));
  EXPECT_NEAR(frappe->features.labels[0].mean, 1.0 / 3, 0.01);
  const auto a9a = DescribeRows({.format = "libsvm"}, {dir + "a9a.zst"}, {});
  ASSERT_TRUE(a9a.ok()) << a9a.status();
  EXPECT_EQ(FeaturesText(a9a->features), "features:bag");
  EXPECT_NEAR(a9a->features.labels[0].mean, 0.2408, 0.0001);
}

TEST_F(DescribeRowsTest, CriteoRowsNeedNoPass) {
  const auto described = DescribeRows({.format = "criteo", .params = {{"hash_dim", "99"}}}, {}, {});
  ASSERT_TRUE(described.ok()) << described.status();
  EXPECT_EQ(described->format.params, (Params{{"hash_dim", "99"}}));
  const Features& features = described->features;
  EXPECT_EQ(features.id_rows, 99);
  EXPECT_EQ(InputsOf(features), CriteoInputs());
  EXPECT_EQ(features.features[0],
            (Feature{.input = "dense_input", .kind = Kind::kNumber, .width = 13}));
  EXPECT_EQ(features.features[26], (Feature{.input = "C26", .vocabulary = "C26"}));
  EXPECT_THAT(features.labels, ElementsAre(LabelFeature{.input = "label"}));
  EXPECT_EQ(DescribeRows({.format = "criteo"}, {}, {})->features.id_rows, 1000001);
  EXPECT_EQ(
      DescribeRows({.format = "criteo", .params = {{"hash_dim", "9223372036854775807"}}}, {}, {})
          ->features.id_rows,
      0);
  EXPECT_THAT(
      std::string(Message(
          DescribeRows({.format = "criteo", .params = {{"hash_dim", "x"}}}, {}, {}).status())),
      HasSubstr("criteo: hash_dim: 'x' is not a whole number"));
  EXPECT_THAT(
      std::string(Message(
          DescribeRows({.format = "criteo"}, {}, {.task = LabelTask::kRegression}).status())),
      HasSubstr("criteo: labels are clicks, 0 or 1, and the task is regression"));
}

}  // namespace
}  // namespace flotilla
