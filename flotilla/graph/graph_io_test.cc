#include "flotilla/graph/graph_io.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/ops/registry.h"
#include "flotilla/graph/plan.h"

namespace flotilla {
namespace {

using Json = nlohmann::json;

// A graph with every op and every kind of input, parameter and attribute.
Graph EveryOp() {
  Graph g;
  const double infinity = std::numeric_limits<double>::infinity();
  const Var ids = g.Ids("ids");
  const Var label = g.Label("label");
  const Var sparse = Embedding(
      ids,
      {.table = "t", .dim = 4, .rows = 9, .init = Uniform(-0.1, 0.1), .decay = Decay{.l1 = 1}});
  const Var dense = Embedding(
      ids,
      {.dim = 4, .rows = 9, .pooling = Pooling::kMean, .trainable = false, .is_sparse = false});
  const auto history = EmbeddingSequence(ids, 3, {.table = "t"});
  const Var sums = Embedding(ids, {.table = "t", .pooling = Pooling::kSumSquares});
  const Var pairs = FfmInteraction({ids, ids}, 2, {.rows = {.table = "pairs"}}) +
                    FwfmInteraction(history.values) + FmInteraction(sums);
  const Var interest =
      TargetAttention(history.values, sparse, history.mask, {.hidden = {2}, .softmax = true});
  Var x = Fc(Concat({sparse, dense, pairs, interest, g.Dense("x", 3)}), 6, Tanh,
             {.weight = {.init = Msra(false)}});
  x = LayerNorm(BatchNorm(Dropout(x, 0.25)));
  x = Relu(x) + LeakyRelu(x) - Sigmoid(x) * Tanh(x) / Exp(x);
  x = Max(Log(Square(x) + 1.0), Sqrt(Square(x) + 0.1)) + Clip(x, -infinity, 1);
  x = L2Normalize(Softmax(x) - LogSoftmax(StopGradient(x)));
  x = Reshape(MatMul(Reshape(x, {2, 3}), g.Parameter("m", {3, 3}, {})), {6});
  const Var part = Slice(x, 1, 0, 2);
  const Var zeros = FillLikeBatch(ids, {2}, 0);
  const Var whole = Cast(label, DType::kFloat);
  Var loss = ReduceSum(CrossEntropy(Softmax(part), label));
  loss = loss + ReduceMean(SoftmaxWithCrossEntropy(TopK(x, 3).values, label));
  loss = loss + ReduceMean(SigmoidCrossEntropyWithLogits(Dot(part, part), whole));
  loss = loss + ReduceMean(SquareError(part, zeros));
  loss = loss + ReduceSum(ReduceMax(x, {1}, true) * LogLoss(Sigmoid(Slice(x, 1, 0, 1)), whole));
  EXPECT_TRUE(g.status().ok()) << g.status();
  return g;
}

std::string Saved(const Graph& g) {
  auto text = GraphToJson(g.def());
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

void ExpectEqual(const GraphDef& a, const GraphDef& b) {
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.tables, b.tables);
  EXPECT_EQ(a.name_counts, b.name_counts);
  ASSERT_EQ(a.vars.size(), b.vars.size());
  for (size_t v = 0; v < a.vars.size(); ++v) {
    const auto fields = [](const VarDef& x) {
      return std::tie(x.name, x.dtype, x.shape.dims, x.node, x.input, x.parameter, x.stop_gradient);
    };
    EXPECT_EQ(fields(a.vars[v]), fields(b.vars[v])) << a.vars[v].name;
  }
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t n = 0; n < a.nodes.size(); ++n) {
    const auto fields = [](const NodeDef& x) {
      return std::tie(x.op, x.name, x.inputs, x.outputs, x.table, x.attributes);
    };
    EXPECT_EQ(fields(a.nodes[n]), fields(b.nodes[n])) << a.nodes[n].name;
  }
}

TEST(GraphIoTest, EveryOpMakesTheRoundTripExactly) {
  const Graph g = EveryOp();
  for (const OpEntry& entry : AllOps()) {
    EXPECT_TRUE(std::any_of(g.def().nodes.begin(), g.def().nodes.end(),
                            [&](const NodeDef& node) { return node.op == entry.name; }))
        << entry.name << " is missing in EveryOp";
  }
  const auto read = GraphFromJson(Saved(g));
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectEqual(g.def(), read->def());
  EXPECT_EQ(Saved(*read), Saved(g));
}

TEST(GraphIoTest, AReadGraphComputesTheSame) {
  Graph g = EveryOp();
  auto read = GraphFromJson(Saved(g));
  ASSERT_TRUE(read.ok()) << read.status();
  const int loss = static_cast<int>(g.def().vars.size()) - 1;
  const auto a = Evaluate(g, {Var(g.mutable_def(), loss)});
  const auto b = Evaluate(*read, {Var(read->mutable_def(), loss)});
  EXPECT_EQ(a[0].data, b[0].data);
  EXPECT_EQ(a[0].data.size(), 1u);
}

TEST(GraphIoTest, AReadGraphCanBeBuiltOn) {
  Graph g;
  Fc(g.Dense("x", 3), 2);
  auto read = GraphFromJson(Saved(g));
  ASSERT_TRUE(read.ok()) << read.status();
  Fc(read->Dense("x", 3), 2);
  EXPECT_TRUE(read->status().ok()) << read->status();
  EXPECT_EQ(read->def().nodes.back().name, "fc_1");
}

TEST(GraphIoTest, FloatsKeepTheirTypeAndEveryBit) {
  Graph g;
  const Var x = g.Dense("x", 1);
  for (double value : {1.0, 0.1, -0.0, 1e-300, std::numeric_limits<double>::infinity()}) {
    Scale(x, value, 0);
  }
  const auto read = GraphFromJson(Saved(g));
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectEqual(g.def(), read->def());
  EXPECT_TRUE(std::signbit(read->def().nodes[2].Float("factor")));
}

TEST(GraphIoTest, AGraphWithAnErrorIsNotWritten) {
  Graph g;
  Fc(g.Dense("x", 3), -1);
  EXPECT_EQ(GraphToJson(g.def()).status(), g.status());
}

TEST(GraphIoTest, ANameThatIsNotUtf8IsAnError) {
  Graph g;
  g.Dense("\xff", 3);
  EXPECT_FALSE(GraphToJson(g.def()).ok());
}

std::string ReadError(const std::string& text) {
  const auto read = GraphFromJson(text);
  return read.ok() ? "OK" : std::string(Message(read.status()));
}

// The error after `change` was applied to the text of a small graph.
template <typename F>
std::string ErrorAfter(F change) {
  Graph g;
  const Var rows = Embedding(g.Ids("ids"), {.table = "t", .dim = 2});
  ReduceSum(Fc(Concat({rows, g.Dense("x", 3)}), 4, Relu));
  Json json = Json::parse(Saved(g));
  change(json);
  return ReadError(json.dump());
}

TEST(GraphIoTest, ErrorsSayWhere) {
  EXPECT_EQ(ErrorAfter([](Json&) {}), "OK");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["version"] = 2; }),
            "graph: version: 2 is not one that this program reads (1)");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["format"] = "x"; }),
            "graph: format: 'x' is not 'flotilla graph'");
  EXPECT_EQ(ErrorAfter([](Json& j) { j.erase("nodes"); }),
            "graph: nodes: expected a list, it is missing");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][2]["op"] = "fcc"; }),
            "graph: nodes[2]: fcc fc_0: unknown op fcc, did you mean fc?");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][2]["inputs"][0] = 99; }),
            "graph: nodes[2].inputs[0]: value 99 is out of range (the graph has 8)");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][2]["inputs"][0] = "x"; }),
            "graph: nodes[2].inputs[0]: expected a whole number, found \"x\"");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][1]["inputs"][0] = 7; }),
            "graph: nodes[1].inputs[0]: reduce_sum_0 is not computed before it");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][1]["inputs"][0] = 3; }),
            "graph: nodes[1].inputs[0]: concat_0 is not computed before it");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][1]["inputs"][0] = 0.5; }),
            "graph: nodes[1].inputs[0]: expected a whole number, found 0.5");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][0]["table"] = 1; }),
            "graph: nodes[0]: embedding embedding_0: unknown table 1 (the graph has 1)");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][1]["table"] = 0; }),
            "graph: nodes[1].table: 0 in op concat, which has none");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["nodes"][1]["attributes"]["axis"] = 1.5; }),
            "graph: nodes[1]: concat concat_0: attribute 'axis' is of type float, not int");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["parameters"][0]["shape"][0] = -5; }),
            "graph: parameters[0].shape: dimension -5");
  EXPECT_EQ(
      ErrorAfter([](Json& j) { j["vars"][3]["shape"][1] = 6; }),
      "graph: nodes[1]: concat concat_0: output concat_0 of shape (batch, 6) is inferred with "
      "shape (batch, 5), or another type");
  EXPECT_EQ(ErrorAfter([](Json& j) { j["inputs"][0]["kind"] = "text"; }),
            "graph: inputs[0].kind: 'text' is not one of dense, ids, label");
  EXPECT_EQ(
      ErrorAfter([](Json& j) { j["vars"][0]["name"] = "y"; }),
      "graph: vars[0]: y of shape (batch, 1) is not ids of shape (batch, 1) that it comes from");
}

TEST(GraphIoTest, WhatIsNotJsonIsAnErrorWithItsPlace) {
  EXPECT_NE(ReadError("").find("graph: "), std::string::npos);
  EXPECT_NE(ReadError("{\"format\": ").find("column"), std::string::npos);
  EXPECT_EQ(ReadError("[]"), "graph: expected an object");
  EXPECT_NE(ReadError(std::string(100000, '[')).find("graph: "), std::string::npos);
}

// Every location in the text, as JSON pointers that stay valid when values change.
void CollectPlaces(const Json& json, const Json::json_pointer& at,
                   std::vector<Json::json_pointer>* places) {
  places->push_back(at);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) CollectPlaces(value, at / key, places);
  }
  if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) CollectPlaces(json[i], at / i, places);
  }
}

// A graph that can be read must also plan and run, or be rejected with an error. Graphs that became
// huge are not run.
void PlanAndRun(const std::string& text) {
  auto read = GraphFromJson(text);
  if (!read.ok()) return;
  const GraphDef& def = read->def();
  for (const VarDef& var : def.vars) {
    if (var.shape.row_size() > 1000) return;
  }
  const int last = static_cast<int>(def.vars.size()) - 1;
  if (last < 0) return;
  (void)Plan::Make(def, {.loss = last, .fetches = {}});
  (void)EvaluateRandom(*read, {Var(read->mutable_def(), last)}, {.rows = 2, .ids = 9});
}

TEST(GraphIoTest, ValuesReplacedAtRandomNeverCrash) {
  const Json original = Json::parse(Saved(EveryOp()));
  std::vector<Json::json_pointer> places;
  CollectPlaces(original, Json::json_pointer(), &places);
  const Json values[] = {nullptr,
                         -1,
                         0,
                         1,
                         7,
                         1LL << 40,
                         INT64_MAX,
                         INT64_MIN,
                         UINT64_MAX,
                         0.5,
                         true,
                         "",
                         "relu",
                         "batch",
                         Json::array(),
                         {1, 2},
                         {-1},
                         Json::object(),
                         {{"float", "nan"}},
                         {{"float", "x"}}};
  int refused = 0;
  for (uint64_t trial = 0; trial < 1500; ++trial) {
    const RngKey key = RngKey(3).With(trial);
    Json json = original;
    for (uint64_t change = 0; change <= key.Below(0, 2); ++change) {
      const auto& place = places[key.Below(10 + change, places.size())];
      if (!json.contains(place)) continue;
      const uint64_t pick = key.Below(20 + change, std::size(values) + 1);
      // One of the choices copies a value from elsewhere: right type, wrong meaning.
      json[place] = pick < std::size(values)
                        ? values[pick]
                        : original[places[key.Below(30 + change, places.size())]];
    }
    const std::string text = json.dump();
    refused += GraphFromJson(text).ok() ? 0 : 1;
    PlanAndRun(text);
  }
  EXPECT_GT(refused, 700);
}

TEST(GraphIoTest, BytesChangedAtRandomNeverCrash) {
  const std::string original = Saved(EveryOp());
  for (uint64_t trial = 0; trial < 500; ++trial) {
    const RngKey key = RngKey(4).With(trial);
    std::string text = original;
    text[key.Below(0, text.size())] = static_cast<char>(key.Below(1, 256));
    if (key.Below(2, 4) == 0) text.resize(key.Below(3, text.size()));
    PlanAndRun(text);
  }
}

}  // namespace
}  // namespace flotilla
