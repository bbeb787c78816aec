#include "flotilla/rpc/model_text.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace flotilla {
namespace {

ModelSpec ExampleModel() {
  ModelSpec spec;
  spec.parameters.push_back({.name = "fc.w", .shape = {3, 4}});
  spec.parameters.push_back({.name = "fc.b", .shape = {4}});
  spec.tables.push_back({.name = "emb", .dim = 8});
  spec.optimizer.name = "adam";
  spec.optimizer.params = {{"beta1", 0.9}};
  spec.optimizer.learning_rate.params = {{"rate", 0.1}};
  return spec;
}

TEST(ModelTextTest, EverythingThatChangesResultsChangesTheText) {
  const std::vector<std::function<void(ModelSpec&)>> changes = {
      [](ModelSpec& s) { s.seed = 1; },
      [](ModelSpec& s) { s.optimizer.name = "sgd"; },
      [](ModelSpec& s) { s.optimizer.params["beta1"] = 0.90000000000000013; },
      [](ModelSpec& s) { s.optimizer.learning_rate.params["rate"] = 0.2; },
      [](ModelSpec& s) { s.optimizer.learning_rate.name = "cosine"; },
      [](ModelSpec& s) { s.optimizer.learning_rate.boundaries = {10}; },
      [](ModelSpec& s) { s.optimizer.learning_rate.values = {1}; },
      [](ModelSpec& s) { s.optimizer.decay.l2 = 0.1; },
      [](ModelSpec& s) {
        s.optimizer.clip = {ClipSpec::Kind::kNorm, 1};
      },
      [](ModelSpec& s) { s.parameters[0].name = "fc.v"; },
      [](ModelSpec& s) {
        s.parameters[0].shape = {4, 3};
      },
      [](ModelSpec& s) { s.parameters[0].moving_average_keep = 0.5; },
      [](ModelSpec& s) { s.parameters[0].attributes.init = Uniform(0, 1); },
      [](ModelSpec& s) { s.parameters[0].attributes.trainable = false; },
      [](ModelSpec& s) { s.parameters[0].attributes.learning_rate_factor = 2; },
      [](ModelSpec& s) { s.parameters[0].attributes.decay = Decay{}; },
      [](ModelSpec& s) { s.without_gradient = {0}; },
      [](ModelSpec& s) { std::swap(s.parameters[0], s.parameters[1]); },
      [](ModelSpec& s) { s.parameters.pop_back(); },
      [](ModelSpec& s) { s.tables[0].dim = 9; },
      [](ModelSpec& s) { s.tables[0].rows = 100; },
      [](ModelSpec& s) { s.tables[0].keep_meta = true; },
      [](ModelSpec& s) { s.tables.push_back({.name = "emb2"}); },
  };
  std::set<std::string> texts = {ModelText(ExampleModel(), "")};
  for (const auto& change : changes) {
    ModelSpec spec = ExampleModel();
    change(spec);
    texts.insert(ModelText(spec, ""));
  }
  texts.insert(ModelText(ExampleModel(), "graph 1"));
  texts.insert(ModelText(ExampleModel(), "graph 2\n"));
  EXPECT_EQ(texts.size(), changes.size() + 3);
  EXPECT_EQ(ModelText(ExampleModel(), "x"), ModelText(ExampleModel(), "x\n"));
}

TEST(ModelTextTest, WhatATableIsTellsMoreThanTheHashOfItsGraph) {
  ModelSpec other = ExampleModel();
  other.tables[0].dim = 9;
  const std::string difference =
      FirstDifference(ModelText(ExampleModel(), "graph 1"), ModelText(other, "graph 2"));
  EXPECT_NE(difference.find("table emb dim 8"), std::string::npos) << difference;
  EXPECT_NE(difference.find("table emb dim 9"), std::string::npos) << difference;
}

TEST(FirstDifferenceTest, ShowsTheFirstLineThatDiffersFromBothSides) {
  EXPECT_EQ(FirstDifference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(FirstDifference("a\nbx\nc\n", "a\nby\nd\n"), "line 2: \"bx\" here, \"by\" there");
  EXPECT_EQ(FirstDifference("ab\n", "abc\n"), "line 1: \"ab\" here, \"abc\" there");
  EXPECT_EQ(FirstDifference("a\n", "a\nb\n"), "line 2: \"nothing\" here, \"b\" there");
  EXPECT_EQ(FirstDifference("a\nb\n", ""), "line 1: \"a\" here, \"nothing\" there");
}

}  // namespace
}  // namespace flotilla
