#include "flotilla/graph/ops/reduce.h"

#include <algorithm>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

enum class Kind { kSum, kMean, kMax };

Var Layer(Kind kind, Var x, Dims axes, bool keep_dims = false) {
  if (kind == Kind::kSum) return ReduceSum(x, axes, keep_dims);
  return kind == Kind::kMean ? ReduceMean(x, axes, keep_dims) : ReduceMax(x, axes, keep_dims);
}

std::vector<float> NaiveReduce(Kind kind, const Tensor& x, Dims axes) {
  const int rank = x.shape.rank();
  if (axes.empty()) {
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  }
  std::vector<bool> reduced(rank);
  for (int64_t axis : axes) reduced[axis < 0 ? axis + rank : axis] = true;
  int64_t results = 1;
  for (int d = 0; d < rank; ++d) results *= reduced[d] ? 1 : x.shape.dims[d];
  std::vector<std::vector<float>> groups(results);
  for (int64_t i = 0; i < static_cast<int64_t>(x.data.size()); ++i) {
    int64_t rest = i, result = 0, distance = 1;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t coordinate = rest % x.shape.dims[d];
      rest /= x.shape.dims[d];
      if (reduced[d]) continue;
      result += coordinate * distance;
      distance *= x.shape.dims[d];
    }
    groups[result].push_back(x.data[i]);
  }
  std::vector<float> y;
  for (const std::vector<float>& group : groups) {
    double sum = 0;
    for (float e : group) sum += e;
    if (kind == Kind::kMean) sum /= static_cast<double>(group.size());
    y.push_back(kind == Kind::kMax ? *std::max_element(group.begin(), group.end())
                                   : static_cast<float>(sum));
  }
  return y;
}

class ReduceTest : public testing::TestWithParam<Dims> {};

TEST_P(ReduceTest, EqualsANaiveLoopAndHasRightGradients) {
  for (Kind kind : {Kind::kSum, Kind::kMean, Kind::kMax}) {
    SCOPED_TRACE(static_cast<int>(kind));
    Graph g;
    const Var x = RandomRows(g, "x", {2, 3, 2});
    const Var y = Layer(kind, x, GetParam());
    for (int64_t block_rows : {256, 3}) {
      const auto v = Evaluate(g, {x, y}, {.block_rows = block_rows});
      ExpectNear(v[1], NaiveReduce(kind, v[0], GetParam()));
    }
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
  }
}

INSTANTIATE_TEST_SUITE_P(Axes, ReduceTest,
                         testing::Values(Dims{}, Dims{0}, Dims{1}, Dims{2}, Dims{3}, Dims{-1},
                                         Dims{1, 2}, Dims{1, 3}, Dims{3, 1}, Dims{0, 2},
                                         Dims{1, 2, 3}, Dims{0, 1, 2, 3}));

TEST(ReduceOpTest, ParametersAreReducedOnceHoweverManyBlocks) {
  for (Kind kind : {Kind::kSum, Kind::kMean, Kind::kMax}) {
    for (const Dims& axes : {Dims{}, Dims{0}, Dims{1}}) {
      Graph g;
      const Var p = g.Parameter("p", {3, 4}, {});
      const Var y = Layer(kind, p, axes);
      // An additional value with rows, so that the batch would be split.
      const Var rows = ReduceSum(RandomRows(g, "x", {2}));
      const auto v = Evaluate(g, {p, y, rows}, {.block_rows = 3});
      ExpectNear(v[1], NaiveReduce(kind, v[0], axes));
      EXPECT_OK(CheckGradientsOfManyBatches(g, y));
      EXPECT_OK(CheckGradientsOfManyBatches(g, rows + ReduceSum(y)));
      EXPECT_OK(CheckGradientsOfManyBatches(g, rows * ReduceSum(y)));
    }
  }
}

TEST(ReduceOpTest, KeepDimsLeavesOnes) {
  Graph g;
  const Var x = RandomRows(g, "x", {2, 3});
  EXPECT_EQ(ReduceSum(x, {1}, true).shape(), Shape::PerRow({1, 3}));
  EXPECT_EQ(ReduceSum(x, {1}).shape(), Shape::PerRow({3}));
  EXPECT_EQ(ReduceMean(x, {}, true).shape(), (Shape{{1, 1, 1}}));
  EXPECT_EQ(ReduceMean(x, {0}).shape(), (Shape{{2, 3}}));
  EXPECT_EQ(ReduceMax(x).shape(), Shape{});
  EXPECT_OK(CheckGradientsOfManyBatches(g, x - ReduceMean(x, {2}, true)));
}

TEST(ReduceOpTest, SumsOfSumsAndDifferencesOfMeansMayBeCutIntoBlocks) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  const Var z = RandomRows(g, "z", {2});
  EXPECT_OK(CheckGradientsOfManyBatches(g, ReduceMean(Square(x)) * 0.5 - ReduceSum(Tanh(z))));
  EXPECT_OK(CheckGradientsOfManyBatches(g, Square(ReduceMean(x)) + ReduceSum(z)));
}

TEST(ReduceOpTest, EqualMaximaGiveTheGradientToTheFirst) {
  Graph g;
  const Var x = g.Parameter("x", {2, 1}, {});
  // The maximum of (x, x) has the slope 1; given to both it would be 2.
  EXPECT_OK(CheckGradients(g, ReduceMax(Concat({x, x}), {1})));
}

TEST(ReduceOpTest, BadAxesAreErrors) {
  Graph g;
  ReduceSum(g.Dense("x", 3), {2});
  EXPECT_ERROR(g, "reduce_sum reduce_sum_0: axis 2 is outside shape (batch, 3)");
  Graph h;
  ReduceMean(h.Dense("x", 3), {1, -1});
  EXPECT_ERROR(h, "reduce_mean reduce_mean_0: axis 1 of shape (batch, 3) is given twice");
}

}  // namespace
}  // namespace flotilla
