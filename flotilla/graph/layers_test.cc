#include "flotilla/graph/layers.h"

#include <gtest/gtest.h>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"

namespace flotilla {
namespace {

TEST(LayersTest, TheNetworkOfTheTutorialIsBuiltAsWritten) {
  namespace fl = flotilla;
  fl::Graph g;
  fl::Var dense = g.Dense("dense_input", 13);
  std::vector<fl::Var> features;
  for (int i = 1; i <= 26; ++i)
    features.push_back(
        fl::Embedding(g.Ids(fmt::format("C{}", i)),
                      {.table = "SparseFeatFactors", .dim = 10, .init = fl::Uniform(-1, 1)}));
  features.push_back(dense);
  fl::Var x = fl::Concat(features);
  for (int layer = 0; layer < 3; ++layer) x = fl::Fc(x, 400, fl::Relu);
  fl::Var predict = fl::Fc(x, 2, fl::Softmax);
  fl::Var label = g.Label("label");
  fl::Var loss = fl::ReduceSum(fl::CrossEntropy(predict, label));
  const MetricSpec auc = fl::Auc(predict, label);

  ASSERT_TRUE(g.status().ok()) << g.status();
  EXPECT_EQ(predict.shape(), Shape::PerRow({2}));
  EXPECT_EQ(loss.shape(), Shape{});
  ASSERT_EQ(g.def().tables.size(), 1u);
  EXPECT_EQ(g.def().tables[0].dim, 10);
  EXPECT_EQ(g.def().tables[0].rows, 0);
  EXPECT_EQ(g.def().tables[0].attributes.init, Uniform(-1, 1));
  ASSERT_EQ(g.def().parameters.size(), 8u);
  EXPECT_EQ(g.def().parameters[0].name, "fc_0.w_0");
  EXPECT_EQ(g.def().parameters[0].shape, (std::vector<int64_t>{273, 400}));
  EXPECT_EQ(g.def().parameters[0].attributes.init, Normal(0, 1 / std::sqrt(273.0)));
  EXPECT_EQ(g.def().parameters[7].name, "fc_3.b_0");
  EXPECT_EQ(g.def().parameters[7].attributes.init, Constant(0));
  EXPECT_EQ(auc.vars, (std::vector<int>{predict.index(), label.index()}));
}

TEST(LayersTest, VarsStayValidWhenTheGraphMoves) {
  Graph g;
  const Var x = g.Dense("x", 3);
  const Graph moved = std::move(g);
  EXPECT_EQ(Relu(x).shape(), Shape::PerRow({3}));
  EXPECT_EQ(moved.def().nodes.size(), 1u);
}

TEST(LayersTest, NamesAreCountedAnewInEachGraph) {
  for (int i = 0; i < 2; ++i) {
    Graph g;
    Fc(Fc(g.Dense("x", 3), 2), 2);
    EXPECT_EQ(g.def().nodes[1].name, "fc_1");
    EXPECT_EQ(g.def().parameters[2].name, "fc_1.w_0");
  }
}

// A network with generated names, given names, nested layers and both kinds of tables.
Var BuildNamedNetwork(Graph& g) {
  const Var ids = g.Ids("ids"), history = g.Ids("history"), dense = g.Dense("x", 4);
  const SequenceVars sequence = EmbeddingSequence(history, 3, {.table = "items", .dim = 4});
  const Var target = Embedding(ids, {.table = "items"});
  const Var small = Embedding(ids, {.table = "small", .dim = 4, .rows = 10, .is_sparse = false});
  const Var ffm = FfmInteraction({ids, history}, 2);
  const Var x =
      Concat({TargetAttention(sequence.values, target, sequence.mask), small, BatchNorm(dense)});
  const Var shared = Fc(x, 12, Relu, {.weight = {.name = "shared"}});
  const Var again = Fc(shared, 12, nullptr, {.weight = {.name = "shared"}});
  return Fc(again, 1) + MatMul(dense, g.Parameter("free", {4, 1}, {})) + ffm;
}

// The names of a graph that belong to a scope, without its prefix; empty: names without a scope.
std::vector<std::string> NamesIn(const std::string& scope, const GraphDef& graph) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& kind, const std::string& name) {
    const bool inside = scope.empty() ? name.find('/') == std::string::npos
                                      : name.compare(0, scope.size(), scope) == 0;
    if (inside) names.push_back(kind + name.substr(scope.size()));
  };
  for (const auto& parameter : graph.parameters) add("parameter ", parameter.name);
  for (const auto& table : graph.tables) add("table ", table.name);
  for (const auto& node : graph.nodes) add("node ", node.name);
  for (const auto& var : graph.vars) {
    if (var.input < 0) add("var ", var.name);
  }
  return names;
}

TEST(NameScopeTest, NamesAreThoseOfTheNetworkAloneWithAPrefix) {
  Graph alone;
  BuildNamedNetwork(alone);
  ASSERT_TRUE(alone.status().ok()) << alone.status();
  const std::vector<std::string> names = NamesIn("", alone.def());
  ASSERT_GT(names.size(), 40u);

  Graph both;
  BuildNamedNetwork(both);
  for (const std::string scope : {"ffm", "deep"}) {
    const NameScope in(&both, scope);
    BuildNamedNetwork(both);
  }
  ASSERT_TRUE(both.status().ok()) << both.status();
  EXPECT_EQ(NamesIn("", both.def()), names);
  EXPECT_EQ(NamesIn("ffm/", both.def()), names);
  EXPECT_EQ(NamesIn("deep/", both.def()), names);
  EXPECT_EQ(both.def().inputs, alone.def().inputs);
  EXPECT_EQ(both.def().parameters.size(), 3 * alone.def().parameters.size());
  EXPECT_EQ(both.def().tables.size(), 3 * alone.def().tables.size());
  EXPECT_EQ(Fc(Var(both.mutable_def(), both.def().FindVar("x")), 2).name(),
            Fc(Var(alone.mutable_def(), alone.def().FindVar("x")), 2).name());
}

TEST(NameScopeTest, ScopesNestAndContinue) {
  Graph g;
  const Var x = g.Dense("x", 3);
  {
    const NameScope outer(&g, "a");
    EXPECT_EQ(Fc(x, 2).name(), "a/fc_0");
    {
      const NameScope inner(&g, "b");
      EXPECT_EQ(Fc(x, 2).name(), "a/b/fc_0");
    }
    EXPECT_EQ(Fc(x, 2).name(), "a/fc_1");
  }
  EXPECT_EQ(Fc(x, 2).name(), "fc_0");
  const NameScope again(&g, "a");
  EXPECT_EQ(Fc(x, 2).name(), "a/fc_2");
}

TEST(NameScopeTest, BadNamesAndErrorsInsideAreErrorsOfTheGraph) {
  for (const std::string name : {"", "a/b"}) {
    Graph g;
    { const NameScope scope(&g, name); }
    EXPECT_EQ(Message(g.status()), "scope '" + name + "': a name without '/' is needed");
  }
  Graph g;
  const Var x = g.Dense("x", 3);
  const NameScope scope(&g, "ffm");
  Fc(x, 0);
  EXPECT_EQ(Message(g.status()),
            "scope ffm/: fc fc_0: size 0 is not positive (input x of shape (batch, 3))");
}

TEST(NameScopeDeathTest, ScopesThatEndInTheWrongOrderAreFound) {
  Graph g;
  auto outer = std::make_unique<NameScope>(&g, "a");
  const auto inner = std::make_unique<NameScope>(&g, "b");
  EXPECT_DEATH(outer.reset(), "scope");
}

TEST(LayersTest, TheFirstErrorIsKeptAndLaterLayersDoNothing) {
  Graph g;
  const Var x = g.Dense("x", 3);
  const Var bad = Add(x, g.Dense("y", 4));
  EXPECT_FALSE(bad.valid());
  const std::string first = ErrorOf(g);
  EXPECT_FALSE(Relu(bad).valid());
  EXPECT_FALSE((bad + x).valid());
  EXPECT_FALSE(Fc(bad, 3, Relu).valid());
  EXPECT_FALSE(ReduceSum(bad).valid());
  EXPECT_FALSE(BatchNorm(bad).valid());
  EXPECT_FALSE(LayerNorm(bad).valid());
  EXPECT_FALSE(TopK(bad, 1).values.valid());
  EXPECT_FALSE(Embedding(bad, {.dim = 2}).valid());
  EXPECT_FALSE(Concat({bad, x}).valid());
  EXPECT_FALSE(Concat({}).valid());
  EXPECT_EQ(Auc(bad, x).vars, (std::vector<int>{-1, x.index()}));
  EXPECT_EQ(ErrorOf(g), first);
}

TEST(LayersTest, ValuesOfTwoGraphsDoNotMix) {
  Graph g, h;
  Add(g.Dense("x", 3), h.Dense("y", 3));
  EXPECT_ERROR(g, "input y belongs to another graph");
}

TEST(FcLayerTest, OptionsNameAndShapeTheParameters) {
  Graph g;
  Fc(g.Dense("x", 3), 4, Relu,
     {.name = "top",
      .weight = {.name = "W", .init = Xavier(), .decay = Decay{.l2 = 0.1}},
      .bias = {.learning_rate_factor = 2, .trainable = false}});
  ASSERT_TRUE(g.status().ok()) << g.status();
  EXPECT_EQ(g.def().nodes[0].name, "top");
  const ParameterSpec& w = g.def().parameters[0];
  EXPECT_EQ(w.name, "W");
  EXPECT_EQ(w.attributes.init, Xavier());
  EXPECT_EQ(w.attributes.decay, (Decay{.l1 = 0, .l2 = 0.1}));
  const ParameterSpec& b = g.def().parameters[1];
  EXPECT_EQ(b.name, "top.b_0");
  EXPECT_EQ(b.attributes.learning_rate_factor, 2);
  EXPECT_FALSE(b.attributes.trainable);
}

TEST(FcLayerTest, ASecondUseOfAWeightMayOmitItsAttributesButNotChangeThem) {
  Graph g;
  const Var x = g.Dense("x", 3);
  Fc(x, 4, nullptr, {.weight = {.name = "W", .init = Constant(2)}});
  Fc(x, 4, nullptr, {.weight = {.name = "W"}});
  Fc(x, 4, nullptr, {.weight = {.name = "W", .init = Constant(2)}});
  ASSERT_TRUE(g.status().ok()) << g.status();
  Fc(x, 4, nullptr, {.weight = {.name = "W", .init = Constant(3)}});
  EXPECT_ERROR(g, "parameter W: init differs from its first use");
}

TEST(EmbeddingLayerTest, ASecondUseTakesWhatTheFirstSaid) {
  Graph g;
  Embedding(g.Ids("a"), {.table = "t",
                         .dim = 8,
                         .rows = 100,
                         .init = Constant(1),
                         .learning_rate_factor = 3,
                         .decay = Decay{.l1 = 1},
                         .trainable = false,
                         .keep_meta = true});
  const Var again = Embedding(g.Ids("b"), {.table = "t", .pooling = Pooling::kMean});
  ASSERT_TRUE(g.status().ok()) << g.status();
  EXPECT_EQ(again.shape(), Shape::PerRow({8}));
  ASSERT_EQ(g.def().tables.size(), 1u);
  const TableSpec expected{.name = "t",
                           .dim = 8,
                           .rows = 100,
                           .attributes = {.init = Constant(1),
                                          .learning_rate_factor = 3,
                                          .decay = Decay{.l1 = 1},
                                          .trainable = false},
                           .keep_meta = true};
  EXPECT_EQ(g.def().tables[0], expected);
  EXPECT_EQ(g.def().nodes[0].Text("pooling"), "sum");
  EXPECT_EQ(g.def().nodes[1].Text("pooling"), "mean");
}

TEST(LayersTest, CrossLayerAndTargetAttentionHaveRightGradients) {
  Graph g;
  const Var x = RandomRows(g, "x", {4});
  EXPECT_OK(CheckGradientsOfManyBatches(g, CrossLayer(x, CrossLayer(x, x))));
  const auto history = EmbeddingSequence(g.Ids("history"), 3, {.table = "t", .dim = 2});
  const Var target = Embedding(g.Ids("target"), {.table = "t"});
  for (bool softmax : {false, true}) {
    const Var interest =
        TargetAttention(history.values, target, history.mask,
                        {.hidden = {4, 3}, .activation = Tanh, .softmax = softmax});
    EXPECT_EQ(interest.shape(), Shape::PerRow({2}));
    for (int64_t max_bag : {1, 5}) {
      EXPECT_OK(CheckGradientsOfManyBatches(g, interest, {.max_bag = max_bag}));
    }
  }
}

TEST(LayersTest, InteractionsOfShapesThatDoNotFitAreErrors) {
  Graph g;
  CrossLayer(RandomRows(g, "x", {4}), RandomRows(g, "y", {3}));
  EXPECT_ERROR(g, "are not of one shape (batch, n)");
  Graph h;
  const auto history = EmbeddingSequence(h.Ids("history"), 3, {.table = "t", .dim = 2});
  TargetAttention(history.values, RandomRows(h, "x", {3}), history.mask);
  EXPECT_ERROR(h, "attention attention_0: history (batch, 3, 2), target (batch, 3) and mask");
}

// The error of a table used first with `first`, then with `second`.
std::string SecondUseError(EmbeddingOptions first, EmbeddingOptions second) {
  Graph g;
  first.table = second.table = "t";
  Embedding(g.Ids("a"), first);
  EXPECT_TRUE(g.status().ok()) << g.status();
  Embedding(g.Ids("b"), second);
  return ErrorOf(g);
}

TEST(EmbeddingLayerTest, TwoTablesOfOneNameWithDifferentShapesAreAnErrorThatNamesBoth) {
  EXPECT_EQ(SecondUseError({.dim = 8}, {.dim = 9}),
            "embedding embedding_1: table t: used with shapes (any, 8) and (any, 9)");
  EXPECT_EQ(SecondUseError({.dim = 8, .rows = 5}, {.rows = 6}),
            "embedding embedding_1: table t: used with shapes (5, 8) and (6, 8)");
  EXPECT_EQ(SecondUseError({.dim = 8, .rows = 5, .is_sparse = false}, {.dim = 4}),
            "embedding embedding_1: table t: used with shapes (5, 8) and (5, 4)");
}

TEST(EmbeddingLayerTest, ASecondUseThatSaysSomethingElseIsAnError) {
  const auto error = [](EmbeddingOptions second) { return SecondUseError({.dim = 8}, second); };
  EXPECT_EQ(error({.dim = 8}), "OK");
  EXPECT_NE(error({.init = Constant(1)}).find("init differs"), std::string::npos);
  EXPECT_NE(error({.learning_rate_factor = 2}).find("factor differs"), std::string::npos);
  EXPECT_NE(error({.decay = Decay{.l1 = 1}}).find("decay differs"), std::string::npos);
  EXPECT_NE(error({.trainable = false}).find("trainable differs"), std::string::npos);
  EXPECT_NE(error({.is_sparse = false}).find("is_sparse differs"), std::string::npos);
  EXPECT_NE(error({.keep_meta = true}).find("keep_meta differs"), std::string::npos);
}

std::string FirstUseError(const EmbeddingOptions& options) {
  Graph g;
  Embedding(g.Ids("a"), options);
  return ErrorOf(g);
}

TEST(EmbeddingLayerTest, AnUnknownTableAndBadShapesAreErrors) {
  EXPECT_EQ(FirstUseError({.table = "t"}),
            "embedding embedding_0: unknown table t: its first use must set dim");
  EXPECT_EQ(FirstUseError({.table = "t", .dim = -4}),
            "embedding embedding_0: table t: shape (0, -4) has a dimension that is not positive");
  EXPECT_EQ(FirstUseError({.table = "t", .dim = 4, .rows = -1}),
            "embedding embedding_0: table t: shape (-1, 4) has a dimension that is not positive");
  EXPECT_EQ(FirstUseError({.table = "t", .dim = 4, .is_sparse = false}),
            "embedding embedding_0: table t: is_sparse = false needs rows");
  EXPECT_NE(FirstUseError({.dim = 4, .init = Xavier()}).find("Xavier and Msra need rows"),
            std::string::npos);
  EXPECT_NE(FirstUseError({.dim = 4, .rows = 2, .is_sparse = false, .keep_meta = true})
                .find("keep_meta is for sparse tables"),
            std::string::npos);
}

TEST(EmbeddingLayerTest, TablesWithoutANameAreApartAndStable) {
  Graph g;
  Embedding(g.Ids("a"), {.dim = 2});
  Embedding(g.Ids("a"), {.dim = 3});
  Embedding(g.Ids("a"), {.dim = 4, .rows = 5, .is_sparse = false});
  ASSERT_TRUE(g.status().ok()) << g.status();
  ASSERT_EQ(g.def().tables.size(), 2u);
  EXPECT_EQ(g.def().tables[0].name, "embedding_0.w_0");
  EXPECT_EQ(g.def().tables[1].name, "embedding_1.w_0");
  EXPECT_EQ(g.def().parameters[0].name, "embedding_2.w_0");
}

TEST(EmbeddingLayerTest, ATableMayHaveTheNameOfItsInputButNotOfAParameter) {
  Graph g;
  Embedding(g.Ids("item"), {.table = "item", .dim = 2});
  EXPECT_TRUE(g.status().ok()) << g.status();
  g.Parameter("p", {3}, {});
  Embedding(g.Ids("item"), {.table = "p", .dim = 2});
  EXPECT_ERROR(g, "table p: the name is taken by a parameter of shape (3)");
}

TEST(EmbeddingLayerTest, ADenseTableIsAParameterThatOthersMayRead) {
  Graph g;
  const Var rows = Embedding(g.Ids("a"), {.table = "t", .dim = 3, .rows = 6, .is_sparse = false});
  const Var scores = MatMul(rows, g.Parameter("t", {6, 3}, {}), {.transpose_b = true});
  ASSERT_TRUE(g.status().ok()) << g.status();
  EXPECT_TRUE(g.def().tables.empty());
  EXPECT_EQ(g.def().parameters.size(), 1u);
  EXPECT_OK(CheckGradientsOfManyBatches(g, scores));
}

TEST(MetricTest, SpecsNameTheirValues) {
  Graph g;
  const Var p = g.Dense("p", 2);
  const Var label = g.Label("label");
  const std::vector<int> both{p.index(), label.index()};
  EXPECT_EQ(Auc(p, label), (MetricSpec{"auc", "auc", both, {{"slide_steps", 20}}}));
  EXPECT_EQ(Auc(p, label, {.name = "test_auc", .num_thresholds = 100}).name, "test_auc");
  EXPECT_EQ(Accuracy(p, label), (MetricSpec{"accuracy", "accuracy", both, {}}));
  EXPECT_EQ(LogLossMetric(p, label), (MetricSpec{"logloss", "logloss", both, {}}));
  EXPECT_EQ(NormalizedEntropy(p, label), (MetricSpec{"ne", "ne", both, {}}));
  EXPECT_EQ(Calibration(p, label), (MetricSpec{"calibration", "calibration", both, {}}));
  const Var x = g.Dense("x", 1), user = g.Ids("user");
  const std::vector<int> of_x{x.index(), label.index()};
  EXPECT_EQ(Rmse(x, label), (MetricSpec{"rmse", "rmse", of_x, {}}));
  EXPECT_EQ(Mae(x, label), (MetricSpec{"mae", "mae", of_x, {}}));
  const MetricSpec gauc = Gauc(p, label, user, {.max_rows = 100});
  EXPECT_EQ(gauc, (MetricSpec{"gauc", "gauc", both, {{"max_rows", 100}}, -1, user.index()}));
  EXPECT_EQ(MeanMetric(p, "m"), (MetricSpec{"m", "mean", {p.index()}, {{"is_batch_mean", 0}}}));
  EXPECT_TRUE(g.status().ok()) << g.status();
}

TEST(MetricTest, ShapesThatDoNotFitAreNamed) {
  Graph g;
  Auc(g.Dense("p", 3), g.Label("label"));
  EXPECT_ERROR(g, "metric auc: predict p of shape (batch, 3) and label label of shape (batch, 1)");
  Graph h;
  Accuracy(h.Dense("p", 3), h.Dense("label", 2));
  EXPECT_ERROR(
      h, "metric accuracy: predict p of shape (batch, 3) and label label of shape (batch, 2)");
  Graph i;
  Rmse(i.Dense("p", 2), i.Label("label"));
  EXPECT_ERROR(i, "metric rmse: predict p of shape (batch, 2) and label label");
  Graph j;
  Gauc(j.Dense("p", 1), j.Label("label"), j.Dense("user", 1));
  EXPECT_ERROR(j, "metric gauc: the group user is not an input of ids");
}

TEST(LossTest, WeightsMultiplyTheLossesOfRows) {
  Graph g;
  const Var x = g.Dense("x", 1), weight = g.Dense("weight", 1);
  const Var sum = WeightedSum(Square(x), weight), mean = WeightedMean(Square(x), weight);
  auto plan = Plan::Make(g.def(), {.loss = -1, .fetches = {sum.index(), mean.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE((*plan)->row_blocks());
  Batch batch{.rows = 3, .fields = std::vector<Field>(2)};
  batch.fields[0].values = {1, 2, 3};
  batch.fields[1].values = {2, 0.5f, 0};
  Step step(plan->get(), {.block_rows = 2});
  ASSERT_TRUE(step.Prepare(BatchSlice(batch)).ok());
  ASSERT_TRUE(step.Run({}, nullptr).ok());
  EXPECT_FLOAT_EQ(step.fetched(0).values[0], 4);
  EXPECT_FLOAT_EQ(step.fetched(1).values[0], 4.0f / 3);
}

}  // namespace
}  // namespace flotilla
