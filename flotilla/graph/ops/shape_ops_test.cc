#include "flotilla/graph/ops/shape_ops.h"

#include <numeric>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

// Elements before, on and after an axis.
struct Split {
  int64_t outer = 1, size = 1, inner = 1;
};

Split SplitAt(const Shape& shape, int axis) {
  Split s;
  for (int d = 0; d < shape.rank(); ++d) {
    (d < axis ? s.outer : d == axis ? s.size : s.inner) *= shape.dims[d];
  }
  return s;
}

std::vector<float> NaiveConcat(const std::vector<Tensor>& parts, int axis) {
  std::vector<float> joined;
  for (int64_t o = 0; o < SplitAt(parts[0].shape, axis).outer; ++o) {
    for (const Tensor& part : parts) {
      const Split s = SplitAt(part.shape, axis);
      const auto begin = part.data.begin() + o * s.size * s.inner;
      joined.insert(joined.end(), begin, begin + s.size * s.inner);
    }
  }
  return joined;
}

TEST(ConcatTest, JoinsColumnsOfLookupsDenseInputsAndComputedValues) {
  for (int64_t block_rows : {256, 3}) {
    Graph g;
    const Var a = RandomRows(g, "a", {3});
    const Var b = g.Dense("b", 2);
    const Var c = Fc(RandomRows(g, "c", {2}), 4, Relu);
    const Var y = Concat({a, b, c});
    EXPECT_EQ(y.shape(), Shape::PerRow({9}));
    const auto v = Evaluate(g, {a, b, c, y}, {.block_rows = block_rows});
    ExpectNear(v[3], NaiveConcat({v[0], v[1], v[2]}, 1), 0);
    // Without the fetches the first two are gathered directly into the result.
    ExpectNear(Evaluate(g, {y}, {.block_rows = block_rows})[0], NaiveConcat({v[0], v[1], v[2]}, 1),
               0);
    EXPECT_OK(CheckGradientsOfManyBatches(g, Tanh(y)));
  }
}

TEST(ConcatTest, JoinsAlongInnerAxes) {
  for (int axis : {1, 2, 3}) {
    std::vector<int64_t> first{2, 3, 2}, second{2, 3, 2};
    second[axis - 1] = 4;
    Graph g;
    const Var a = RandomRows(g, "a", first);
    const Var b = RandomRows(g, "b", second);
    const Var y = Concat({a, b}, axis - 4);  // counted from the end
    const auto v = Evaluate(g, {a, b, y}, {.rows = 2});
    ExpectNear(v[2], NaiveConcat({v[0], v[1]}, axis), 0);
    EXPECT_OK(CheckGradients(g, y, {.rows = 2}));
  }
}

TEST(ConcatTest, TheSameValueTwiceAndParametersGetTheirGradients) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  EXPECT_OK(CheckGradientsOfManyBatches(g, Tanh(Concat({x, x, x * 2.0}))));
  Graph h;
  const Var p = h.Parameter("p", {2, 3}, {});
  EXPECT_OK(CheckGradients(h, Tanh(Concat({p, h.Parameter("q", {4, 3}, {}), p}, 0))));
}

TEST(ConcatTest, ShapesThatDoNotFitAreNamed) {
  Graph g;
  Concat({g.Dense("a", 3), Reshape(g.Dense("b", 4), {2, 2})});
  EXPECT_ERROR(g, "of shape (batch, 2, 2) cannot join input a of shape (batch, 3) along axis 1");
  Graph h;
  Concat({h.Dense("a", 3), h.Dense("b", 3)}, 0);
  EXPECT_ERROR(h, "axis 0 of shape (batch, 3) is the batch's");
  Graph i;
  Concat({i.Dense("a", 3)}, 5);
  EXPECT_ERROR(i, "concat concat_0: axis 5 is outside shape (batch, 3)");
}

TEST(SliceTest, TakesElementsOfAnyAxis) {
  for (int axis : {1, 2, 3}) {
    Graph g;
    const Var x = RandomRows(g, "x", {4, 5, 4});
    const Var y = Slice(x, axis, 1, -1);
    const auto v = Evaluate(g, {x, y}, {.rows = 2});
    const Split s = SplitAt(v[0].shape, axis);
    std::vector<float> expected;
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t i = s.inner; i < (s.size - 1) * s.inner; ++i) {
        expected.push_back(v[0].data[o * s.size * s.inner + i]);
      }
    }
    ExpectNear(v[1], expected, 0);
    EXPECT_OK(CheckGradients(g, y, {.rows = 2}));
  }
  Graph g;
  const Var x = RandomRows(g, "x", {5});
  EXPECT_OK(CheckGradientsOfManyBatches(g, Slice(x, 1, 0, 2) * Slice(x, 1, 1, 3)));
}

TEST(SliceTest, BoundsOutsideTheShapeAreErrors) {
  const auto error = [](int64_t axis, int64_t start, int64_t end) {
    Graph g;
    Slice(g.Dense("x", 5), axis, start, end);
    return ErrorOf(g);
  };
  EXPECT_EQ(error(1, 2, 6), "slice slice_0: [2, 6) of axis 1 is empty or outside shape (batch, 5)");
  EXPECT_EQ(error(1, 3, 3), "slice slice_0: [3, 3) of axis 1 is empty or outside shape (batch, 5)");
  EXPECT_EQ(error(1, -9, 3),
            "slice slice_0: [-9, 3) of axis 1 is empty or outside shape (batch, 5)");
  EXPECT_EQ(error(0, 0, 1),
            "slice slice_0: axis 0 of shape (batch, 5) is the batch's: rows cannot be sliced");
}

TEST(ReshapeTest, KeepsElementsInOrder) {
  Graph g;
  const Var x = RandomRows(g, "x", {12});
  const Var y = Reshape(x, {2, -1, 3});
  EXPECT_EQ(y.shape(), Shape::PerRow({2, 2, 3}));
  const auto v = Evaluate(g, {x, y});
  EXPECT_EQ(v[0].data, v[1].data);
  EXPECT_OK(CheckGradientsOfManyBatches(g, Square(Reshape(Tanh(y), {12}))));
  Graph h;
  const Var p = h.Parameter("p", {4, 3}, {});
  EXPECT_EQ(Reshape(p, {2, 6}).shape(), (Shape{{2, 6}}));
  EXPECT_OK(CheckGradients(h, Reshape(p, {-1})));
}

TEST(ReshapeTest, WhatDoesNotFitIsAnError) {
  const auto error = [](std::vector<int64_t> dims) {
    Graph g;
    Reshape(g.Dense("x", 12), std::move(dims));
    return ErrorOf(g);
  };
  EXPECT_EQ(error({5, 2}), "reshape reshape_0: a row of shape (batch, 12) cannot become (5, 2)");
  EXPECT_EQ(error({5, -1}), "reshape reshape_0: a row of shape (batch, 12) cannot become (5, -1)");
  EXPECT_EQ(error({-1, -1}),
            "reshape reshape_0: a row of shape (batch, 12) cannot become (-1, -1)");
  EXPECT_EQ(error({-2, 6}), "reshape reshape_0: a row of shape (batch, 12) cannot become (-2, 6)");
  EXPECT_EQ(error({0, 6}), "reshape reshape_0: a row of shape (batch, 12) cannot become (0, 6)");
  EXPECT_NE(error({INT64_MAX, INT64_MAX}), "OK");
}

}  // namespace
}  // namespace flotilla
