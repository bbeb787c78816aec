#include "flotilla/graph/ops/select.h"

#include <algorithm>
#include <numeric>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

TEST(TopKTest, EqualsASortAndHasRightGradients) {
  for (const int64_t k : {1, 2, 5}) {
    Graph g;
    const Var x = RandomRows(g, "x", {2, 5});
    const TopKResult top = TopK(x, k);
    EXPECT_EQ(top.indices.def().dtype, DType::kInt);
    const auto v = Evaluate(g, {x, top.values, top.indices});
    std::vector<float> values, indices;
    for (int64_t run = 0; run < 14; ++run) {
      const float* row = v[0].data.data() + run * 5;
      std::vector<int> order(5);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
      for (int64_t i = 0; i < k; ++i) {
        values.push_back(row[order[i]]);
        indices.push_back(static_cast<float>(order[i]));
      }
    }
    ExpectNear(v[1], values, 0);
    ExpectNear(v[2], indices, 0);
    EXPECT_OK(CheckGradientsOfManyBatches(g, top.values));
  }
}

TEST(TopKTest, EqualValuesStandInTheOrderOfTheInput) {
  Graph g;
  const Var x = FillLikeBatch(g.Dense("x", 1), {4}, 2);
  const auto v = Evaluate(g, {TopK(x, 3).indices}, {.rows = 1});
  EXPECT_EQ(v[0].data, (std::vector<float>{0, 1, 2}));
}

TEST(TopKTest, KMustFitTheShape) {
  for (const int64_t k : {0, -1, 4}) {
    Graph g;
    EXPECT_FALSE(TopK(g.Dense("x", 3), k).values.valid());
    EXPECT_ERROR(g, fmt::format("top_k top_k_0: k = {} of the last axis of shape (batch, 3)", k));
  }
}

TEST(CastTest, ToIntCutsTowardsZeroAndStopsTheGradient) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  const Var whole = Cast(x * 5.0, DType::kInt);
  EXPECT_EQ(whole.def().dtype, DType::kInt);
  const auto v = Evaluate(g, {x, whole});
  std::vector<float> expected;
  for (float e : v[0].data) expected.push_back(std::trunc(e * 5));
  ExpectNear(v[1], expected, 0);
  // Its slope is 0 almost everywhere, and so are the central differences.
  EXPECT_OK(CheckGradientsOfManyBatches(g, Cast(whole, DType::kFloat) * x));
}

TEST(CastTest, ToFloatPassesTheGradientOn) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  EXPECT_OK(CheckGradientsOfManyBatches(g, Cast(Tanh(x), DType::kFloat)));
}

TEST(CastTest, NothingBecomesIds) {
  Graph g;
  Cast(g.Dense("x", 3), DType::kIds);
  EXPECT_ERROR(g, "cast cast_0: a value cannot become 'ids'");
}

TEST(FillLikeBatchTest, FillsOneValuePerRow) {
  Graph g;
  const auto v = Evaluate(g, {FillLikeBatch(g.Ids("ids"), {2, 3}, 1.5)}, {.rows = 4});
  EXPECT_EQ(v[0].shape, (Shape{{4, 2, 3}}));
  ExpectNear(v[0], std::vector<float>(24, 1.5f), 0);
}

TEST(FillLikeBatchTest, NeedsRowsAndAPositiveShape) {
  Graph g;
  FillLikeBatch(g.Parameter("p", {3}, {}), {2}, 0);
  EXPECT_ERROR(g, "fill_like_batch fill_like_batch_0: shape (2) for the batch of p");
  Graph h;
  FillLikeBatch(h.Dense("x", 3), {2, -4}, 0);
  EXPECT_ERROR(h, "shape (2, -4) for the batch of x, which has shape (batch, 3)");
}

TEST(StopGradientTest, KeepsTheValueAndLearnsNothing) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  const Var stopped = StopGradient(x);
  const auto v = Evaluate(g, {x, stopped});
  EXPECT_EQ(v[0].data, v[1].data);
  // The slope of x * stop(x) is taken as x, central differences say 2x.
  const Status status = CheckGradients(g, x * stopped);
  EXPECT_NE(std::string(Message(status)).find("central differences say"), std::string::npos);
}

}  // namespace
}  // namespace flotilla
