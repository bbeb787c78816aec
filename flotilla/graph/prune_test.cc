#include "flotilla/graph/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/graph/graph_io.h"
#include "flotilla/graph/graph_validation.h"
#include "flotilla/graph/layers.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<std::string> Names(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

// Predicts a click and, from a separate table and layers, a price; the click part also has a batch
// norm, whose statistics are parameters.
struct TwoHeads {
  Graph g;
  Var click, price, label, loss;

  TwoHeads() {
    const Var unused = g.Dense("unused", 2);
    const Var bid = Embedding(g.Ids("bid"), {.table = "bids", .dim = 3, .rows = 7});
    const Var ad = Embedding(g.Ids("ad"), {.table = "ads", .dim = 4});
    price = Fc(Concat({bid, ad}), 1, Relu, {.name = "price"});
    click = Sigmoid(Fc(BatchNorm(Concat({ad, g.Dense("x", 2)})), 1, nullptr, {.name = "click"}));
    label = g.Label("label");
    loss = ReduceSum(LogLoss(click, Cast(label, DType::kFloat))) + ReduceSum(price);
    EXPECT_TRUE(g.status().ok()) << g.status();
    EXPECT_TRUE(unused.valid());
  }
};

TEST(PruneTest, KeepsWhatTheValuesNeedAndAllInputs) {
  const TwoHeads model;
  const std::vector<int> keep = {model.click.index()};
  const PrunedGraph pruned = PruneGraph(model.g.def(), keep);
  const GraphDef& def = pruned.graph.def();
  EXPECT_EQ(def.inputs, model.g.def().inputs);
  EXPECT_THAT(Names(def.tables), ElementsAre("ads"));
  for (const ParameterSpec& parameter : def.parameters) {
    EXPECT_FALSE(parameter.name.starts_with("price")) << parameter.name;
    EXPECT_EQ(parameter, model.g.def().parameters[model.g.def().FindParameter(parameter.name)]);
  }
  EXPECT_EQ(def.parameters.size(), model.g.def().parameters.size() - 2);
  EXPECT_EQ(def.FindVar(model.price.name()), -1);
  EXPECT_EQ(def.FindVar(model.loss.name()), -1);
}

TEST(PruneTest, TheResultIsAGraphThatKeepsTheRulesAndItsText) {
  const TwoHeads model;
  const std::vector<int> keep = {model.price.index(), model.label.index()};
  const PrunedGraph pruned = PruneGraph(model.g.def(), keep);
  EXPECT_TRUE(ValidateGraph(pruned.graph.def()).ok()) << ValidateGraph(pruned.graph.def());
  const auto text = GraphToJson(pruned.graph.def());
  ASSERT_TRUE(text.ok()) << text.status();
  const auto again = GraphFromJson(*text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*GraphToJson(again->def()), *text);
}

TEST(PruneTest, TheMapTellsWhereEachValueWent) {
  const TwoHeads model;
  const std::vector<int> keep = {model.price.index()};
  const PrunedGraph pruned = PruneGraph(model.g.def(), keep);
  const std::vector<VarDef>& old_vars = model.g.def().vars;
  ASSERT_EQ(pruned.vars.size(), old_vars.size());
  size_t kept = 0;
  for (size_t v = 0; v < old_vars.size(); ++v) {
    if (pruned.vars[v] < 0) continue;
    EXPECT_EQ(pruned.graph.def().vars[pruned.vars[v]].name, old_vars[v].name);
    ++kept;
  }
  EXPECT_EQ(kept, pruned.graph.def().vars.size());
  EXPECT_GE(pruned.vars[model.price.index()], 0);
  EXPECT_GE(pruned.vars[model.label.index()], 0) << "an input";
  EXPECT_EQ(pruned.vars[model.click.index()], -1);
}

TEST(PruneTest, EverythingIsKeptWhereEverythingIsNeeded) {
  const TwoHeads model;
  const std::vector<int> keep = {model.loss.index()};
  EXPECT_EQ(*GraphToJson(PruneGraph(model.g.def(), keep).graph.def()), *GraphToJson(model.g.def()));
}

TEST(PruneTest, AnOpStaysWithAllThatItMakes) {
  Graph g;
  const TopKResult top = TopK(g.Dense("x", 4), 2);
  const std::vector<int> keep = {top.values.index()};
  const PrunedGraph pruned = PruneGraph(g.def(), keep);
  EXPECT_EQ(pruned.graph.def().nodes[0].outputs.size(), 2);
  EXPECT_TRUE(ValidateGraph(pruned.graph.def()).ok());
}

}  // namespace
}  // namespace flotilla
