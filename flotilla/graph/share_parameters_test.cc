#include "flotilla/graph/share_parameters.h"

#include <gtest/gtest.h>

#include "flotilla/graph/graph_io.h"
#include "flotilla/graph/layers.h"

namespace flotilla {
namespace {

// Two tables and two layers.
Graph TrainingNetwork() {
  Graph g;
  const Var ids = g.Ids("id");
  const Var x = Embedding(ids, {.table = "a", .dim = 2});
  const Var y = Embedding(ids, {.table = "b", .dim = 3, .rows = 10});
  Fc(Fc(Concat({x, y}), 4, Relu, {.name = "first"}), 1, nullptr, {.name = "second"});
  return g;
}

TEST(ShareParametersTest, ParametersAreFoundByNameAndNumberedAsInTheBase) {
  const Graph base = TrainingNetwork();
  Graph test;
  const Var y =
      Embedding(test.Ids("id"), {.table = "b", .dim = 3, .rows = 10, .init = Constant(7)});
  const Var z = Fc(test.Dense("hidden", 4), 1, nullptr, {.name = "second"});
  ASSERT_TRUE(test.status().ok()) << test.status();
  const Status status = UseParametersOf(base.def(), test.mutable_def());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(test.def().parameters, base.def().parameters);
  EXPECT_EQ(test.def().tables, base.def().tables);
  EXPECT_EQ(test.def().nodes[y.def().node].table, 1);
  const NodeDef& fc = test.def().nodes[z.def().node];
  for (const int input : fc.inputs) {
    const VarDef& var = test.def().vars[input];
    if (var.parameter < 0) continue;
    EXPECT_EQ(test.def().parameters[var.parameter].name, var.name);
  }
  // Complete: it can be saved and read again.
  const auto text = GraphToJson(test.def());
  ASSERT_TRUE(text.ok()) << text.status();
  const auto again = GraphFromJson(*text);
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST(ShareParametersTest, WhatTheBaseLacksIsAnErrorAndNothingChanges) {
  const Graph base = TrainingNetwork();
  const auto fails = [&](auto add) {
    Graph test;
    add(test);
    const size_t vars = test.def().vars.size(), tables = test.def().tables.size();
    const Status status = UseParametersOf(base.def(), test.mutable_def());
    EXPECT_EQ(test.def().vars.size(), vars);
    EXPECT_EQ(test.def().tables.size(), tables);
    return std::string(Message(status));
  };
  EXPECT_EQ(fails([](Graph& g) { Fc(g.Dense("x", 4), 1, nullptr, {.name = "third"}); }),
            "the other network has no parameter third.w_0");
  EXPECT_EQ(fails([](Graph& g) { Fc(g.Dense("x", 5), 1, nullptr, {.name = "second"}); }),
            "parameter second.w_0 has shape (5, 1), but (4, 1) in the other network");
  EXPECT_EQ(fails([](Graph& g) { Embedding(g.Ids("id"), {.table = "c", .dim = 2}); }),
            "the other network has no table c");
  EXPECT_EQ(fails([](Graph& g) { Embedding(g.Ids("id"), {.table = "b", .dim = 3}); }),
            "table b has rows of 3 numbers and 0 rows (0: any id), but 3 and 10 in the other "
            "network");
}

}  // namespace
}  // namespace flotilla
