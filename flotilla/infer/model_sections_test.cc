#include "flotilla/infer/model_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/rng.h"
#include "flotilla/graph/graph_io.h"
#include "flotilla/infer/trained_model_testing.h"

namespace flotilla {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ModelSections Clicks() {
  TrainedModel model(1, 0);
  model.sections.format = {.format = "multislot", .params = {{"single", "user"}}};
  return std::move(model.sections);
}

std::string ErrorOf(const Sections& sections) {
  const auto model = FromSections(sections);
  return model.ok() ? "ok" : std::string(Message(model.status()));
}

TEST(ModelSectionsTest, AModelComesBackEqual) {
  const ModelSections model = Clicks();
  const auto sections = ToSections(model);
  ASSERT_TRUE(sections.ok()) << sections.status();
  const auto again = FromSections(*sections);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*GraphToJson(again->graph.def()), *GraphToJson(model.graph.def()));
  EXPECT_EQ(again->predict, model.predict);
  EXPECT_EQ(again->loss, model.loss);
  EXPECT_EQ(again->metrics, model.metrics);
  EXPECT_EQ(again->format, model.format);
}

TEST(ModelSectionsTest, ALossIsOptionalAndOtherSectionsAreLeftAlone) {
  ModelSections model = Clicks();
  model.loss = -1;
  Sections sections = *ToSections(model);
  EXPECT_FALSE(sections.contains("loss"));
  sections["positions"] = "{ nothing of ours";
  const auto again = FromSections(sections);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->loss, -1);
}

TEST(ModelSectionsTest, ErrorsNameTheSection) {
  const Sections good = *ToSections(Clicks());
  for (const char* name : {"graph", "metrics", "format"}) {
    Sections missing = good;
    missing.erase(name);
    EXPECT_THAT(ErrorOf(missing), HasSubstr(fmt::format("section {} is missing", name)));
  }
  for (const char* name : {"graph", "predict", "loss", "metrics", "format"}) {
    Sections broken = good;
    broken[name] = "nonsense";
    EXPECT_THAT(ErrorOf(broken), StartsWith(fmt::format("section {}: ", name)));
  }
}

TEST(ModelSectionsTest, ValuesThatCannotBeScoredAreRefused) {
  const Sections good = *ToSections(Clicks());
  Sections odd = good;
  odd["predict"] = "user";  // ids
  EXPECT_THAT(ErrorOf(odd), HasSubstr("section predict: user"));
  odd["predict"] = good.at("loss");  // one number for all rows
  EXPECT_THAT(ErrorOf(odd), HasSubstr("does not have a number for each row"));
  const auto with_metric = [&](const std::string& vars) {
    Sections sections = good;
    sections["metrics"] = R"([{"name": "m", "kind": "auc", "params": {}, "vars": )" + vars + "}]";
    return ErrorOf(sections);
  };
  EXPECT_THAT(with_metric("[100000, 0]"), HasSubstr("section metrics: m: value 100000"));
  EXPECT_THAT(with_metric("[0]"), HasSubstr("is ids, not numbers"));
  const ModelSections model = Clicks();
  EXPECT_THAT(with_metric(fmt::format("[{}, {}]", model.predict, model.loss)),
              HasSubstr("does not have a number for each row"));
}

TEST(ModelSectionsTest, WhatIsWrongIsNotWritten) {
  ModelSections model = Clicks();
  model.predict = model.loss;
  EXPECT_THAT(std::string(Message(ToSections(model).status())), StartsWith("section predict: "));
  model = Clicks();
  model.metrics[0].vars[1] = 4711;
  EXPECT_THAT(std::string(Message(ToSections(model).status())), StartsWith("section metrics: auc"));
  model = Clicks();
  model.format = {.format = "csv", .params = {{"schema_file", "/no/such/file"}}};
  EXPECT_THAT(std::string(Message(ToSections(model).status())),
              StartsWith("section format: /no/such/file"));
}

TEST(ModelSectionsTest, AModelNeedNotSayWhatInferenceGives) {
  ModelSections model = Clicks();
  model.predict = -1;
  const auto sections = ToSections(model);
  ASSERT_TRUE(sections.ok()) << sections.status();
  EXPECT_FALSE(sections->contains("predict"));
  const auto read = FromSections(*sections);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->predict, -1);
}

// Every mutation yields a model or an error that names a section.
TEST(ModelSectionsTest, NoTextMakesItAbort) {
  const Sections good = *ToSections(Clicks());
  const RngKey key = RngKey(11).With("mutations");
  for (uint64_t i = 0; i < 1000; ++i) {
    Sections sections = good;
    auto section = std::next(sections.begin(), static_cast<long>(key.Below(4 * i, good.size())));
    std::string& text = section->second;
    const size_t place = key.Below(4 * i + 1, text.size());
    switch (key.Below(4 * i + 2, 3)) {
      case 0:
        text[place] = static_cast<char>("0-9[]{}\",:a\xff"[key.Below(4 * i + 3, 12)]);
        break;
      case 1:
        text.resize(place);
        break;
      default:
        text.insert(place, text.substr(key.Below(4 * i + 3, text.size()), 20));
    }
    const std::string error = ErrorOf(sections);
    EXPECT_THAT(error, AnyOf("ok", StartsWith("section ")));
  }
}

TEST(ModelSectionsTest, ThePredictionIsWhatTheFirstMetricScoresUnlessSaid) {
  const ModelSections model = Clicks();
  const GraphDef& graph = model.graph.def();
  EXPECT_EQ(PredictValue(graph, 5, model.metrics), 5);
  EXPECT_EQ(PredictValue(graph, -1, model.metrics), model.predict);
  EXPECT_EQ(PredictValue(graph, -1, {}), -1);
  // A mean of the loss has no number for each row.
  MetricSpec mean{.name = "mean", .kind = "mean", .vars = {model.loss}, .params = {}};
  EXPECT_EQ(PredictValue(graph, -1, {mean}), -1);
  EXPECT_EQ(PredictValue(graph, -1, {mean, model.metrics[0]}), model.predict);
}

// The fields of Clicks() are user, words, x and label.
TEST(ModelSectionsTest, WeightsAndGroupsOfMetricsAreChecked) {
  ModelSections model = Clicks();
  const GraphDef& graph = model.graph.def();
  const int user = graph.FindVar("user"), x = graph.FindVar("x"), label = graph.FindVar("label");
  model.metrics[0].weight = label;
  model.metrics[1] = {
      .name = "gauc", .kind = "gauc", .vars = {model.predict, label}, .params = {}, .group = user};
  const auto again = FromSections(*ToSections(model));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metrics, model.metrics);
  const ModelSections small = PruneForInference(model);
  EXPECT_EQ(small.graph.def().vars[small.metrics[0].weight].name, "label");
  EXPECT_EQ(small.graph.def().vars[small.metrics[1].group].name, "user");
  const auto error = [&](int weight, int group) {
    model.metrics[1].weight = weight;
    model.metrics[1].group = group;
    return std::string(Message(ToSections(model).status()));
  };
  EXPECT_THAT(error(x, user), HasSubstr("section metrics: gauc: weight x of shape (batch, 3)"));
  EXPECT_THAT(error(user, user), HasSubstr("user of shape"));
  EXPECT_THAT(error(model.loss, user), HasSubstr("does not have a number for each row"));
  EXPECT_THAT(error(1000, user), HasSubstr("value 1000"));
  EXPECT_THAT(error(-1, label), HasSubstr("group label is not an input of ids"));
  EXPECT_THAT(error(-1, 1000), HasSubstr("value 1000"));
}

TEST(ModelSectionsTest, MetricsThatAnAbsentInputDecidesAreLeftOut) {
  ModelSections model = Clicks();
  const GraphDef& graph = model.graph.def();
  const int label = graph.FindVar("label"), user = graph.FindVar("user");
  model.metrics = {
      {.name = "of_x", .kind = "mean", .vars = {model.predict}, .params = {}},
      {.name = "weighted", .kind = "mean", .vars = {model.predict}, .params = {}, .weight = label},
      {.name = "auc", .kind = "auc", .vars = {model.predict, label}, .params = {}},
      {.name = "loss", .kind = "mean", .vars = {model.loss}, .params = {}},
      {.name = "gauc",
       .kind = "gauc",
       .vars = {model.predict, label},
       .params = {},
       .group = user}};
  const std::vector<int> no_label = {graph.vars[label].input}, no_user = {graph.vars[user].input};
  const std::vector<MetricSpec> left = MetricsWithout(graph, model.metrics, no_label);
  ASSERT_EQ(left.size(), 2u) << "the loss is computed from the label";
  EXPECT_EQ(left[0], model.metrics[0]);
  EXPECT_EQ(left[1].name, "weighted");
  EXPECT_EQ(left[1].weight, -1) << "every row counts once";
  EXPECT_TRUE(MetricsWithout(graph, model.metrics, no_user).empty()) << "the prediction reads it";
  EXPECT_EQ(MetricsWithout(graph, model.metrics, {}), model.metrics);
}

TEST(ModelSectionsTest, PruningLeavesWhatThePredictionNeeds) {
  const ModelSections model = Clicks();
  const ModelSections small = PruneForInference(model);
  EXPECT_EQ(small.graph.def().inputs, model.graph.def().inputs);
  EXPECT_EQ(small.graph.def().FindTable("prices"), -1);
  EXPECT_EQ(small.graph.def().FindParameter("price.w_0"), -1);
  EXPECT_EQ(small.graph.def().tables.size(), 2);
  EXPECT_EQ(small.loss, -1);
  EXPECT_EQ(small.format, model.format);
  std::vector<std::string> metrics;
  for (const MetricSpec& metric : small.metrics) metrics.push_back(metric.name);
  EXPECT_THAT(metrics, ElementsAre("auc", "logloss", "accuracy"));
  EXPECT_EQ(small.metrics[0].vars[0], small.predict);
  const auto again = FromSections(*ToSections(small));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metrics, small.metrics);
}

}  // namespace
}  // namespace flotilla
