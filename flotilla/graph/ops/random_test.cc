#include "flotilla/graph/ops/random.h"

#include <algorithm>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

TEST(DropoutTest, KeptElementsAreScaledAndTheOthersAreZero) {
  Graph g;
  const Var x = g.Dense("x", 50);
  const auto v = Evaluate(g, {x, Dropout(x, 0.4)}, {.rows = 200, .low = 0.5});
  int64_t dropped = 0;
  for (size_t i = 0; i < v[0].data.size(); ++i) {
    if (v[1].data[i] == 0) {
      ++dropped;
    } else {
      ASSERT_NEAR(v[1].data[i], v[0].data[i] / 0.6, 1e-5);
    }
  }
  // 10000 draws: the standard deviation of the fraction is 0.005.
  EXPECT_NEAR(static_cast<double>(dropped) / 10000, 0.4, 0.025);
}

TEST(DropoutTest, TheMaskDoesNotDependOnBlocks) {
  Graph g;
  const Var y = Dropout(g.Dense("x", 5), 0.5);
  const auto whole = Evaluate(g, {y}, {.rows = 20});
  for (int64_t block_rows : {1, 3, 7}) {
    EXPECT_EQ(Evaluate(g, {y}, {.rows = 20, .block_rows = block_rows})[0].data, whole[0].data);
  }
}

TEST(DropoutTest, RowsAndLayersHaveMasksOfTheirOwn) {
  Graph g;
  const Var ones = FillLikeBatch(g.Dense("x", 1), {64}, 1);
  const auto v = Evaluate(g, {Dropout(ones, 0.5), Dropout(ones, 0.5)}, {.rows = 2});
  const auto row = [](const Tensor& t, int r) {
    return std::vector<float>(t.data.begin() + 64 * r, t.data.begin() + 64 * (r + 1));
  };
  EXPECT_NE(row(v[0], 0), row(v[0], 1));
  EXPECT_NE(row(v[0], 0), row(v[1], 0));
}

TEST(DropoutTest, InferenceChangesNothing) {
  Graph g;
  const Var x = g.Dense("x", 5);
  const auto v = Evaluate(g, {x, Dropout(x, 0.5)}, {.training = false});
  EXPECT_EQ(v[0].data, v[1].data);
}

TEST(DropoutTest, GradientsAreRight) {
  for (bool training : {true, false}) {
    Graph g;
    const Var y = Dropout(RandomRows(g, "x", {4}), 0.5) * Dropout(g.Parameter("p", {4}, {}), 0.3);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y, {.training = training}));
  }
}

TEST(DropoutTest, ARateOutsideItsRangeIsAnError) {
  for (double rate : {-0.1, 1.0, 2.0}) {
    Graph g;
    Dropout(g.Dense("x", 2), rate);
    EXPECT_ERROR(g, "is not in [0, 1)");
  }
}

}  // namespace
}  // namespace flotilla
