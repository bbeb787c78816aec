#include "flotilla/graph/grad_check.h"

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

// A gradient that is wrong on purpose: half of the square is treated as a constant.
Var HalfSquare(Var x) { return x * StopGradient(x); }

TEST(GradCheckTest, ARightGradientPasses) {
  Graph g;
  EXPECT_OK(CheckGradientsOfManyBatches(g, Square(RandomRows(g, "x", {3}))));
}

TEST(GradCheckTest, AWrongGradientOfATableRowIsReported) {
  Graph g;
  const Status status = CheckGradients(g, HalfSquare(RandomRows(g, "x", {3})));
  EXPECT_NE(std::string(Message(status)).find("table x id "), std::string::npos) << status;
}

TEST(GradCheckTest, AWrongGradientOfAParameterIsReported) {
  Graph g;
  const Status status = CheckGradients(g, HalfSquare(g.Parameter("p", {2}, {})));
  EXPECT_NE(std::string(Message(status)).find("parameter p element 0"), std::string::npos)
      << status;
}

TEST(GradCheckTest, AWrongGradientShowsInTheFirstBatchSize) {
  Graph g;
  const Status status = CheckGradientsOfManyBatches(g, HalfSquare(RandomRows(g, "x", {3})));
  EXPECT_NE(std::string(Message(status)).find("1 rows in blocks of 256: "), std::string::npos)
      << status;
}

TEST(GradCheckTest, TheErrorOfAGraphIsPassedOn) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  Add(x, g.Dense("y", 2));
  EXPECT_EQ(CheckGradients(g, x), g.status());
  EXPECT_FALSE(g.status().ok());
}

TEST(GradCheckTest, BagsHaveAnEmptyAndASingleOne) {
  Graph g;
  const Var x = Embedding(g.Ids("x"), {.table = "t", .dim = 2});
  const auto values = Evaluate(g, {x}, {.max_bag = 3});
  EXPECT_EQ(values[0].data[0], 0);
  EXPECT_EQ(values[0].data[1], 0);
  EXPECT_NE(values[0].data[2], 0);
}

}  // namespace
}  // namespace flotilla
