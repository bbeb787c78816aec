#include "flotilla/graph/ops/matmul.h"

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

float MatrixElement(const Tensor& t, bool transposed, int64_t matrix, int64_t row, int64_t column) {
  const int64_t rows = t.shape.dims[t.shape.rank() - 2], columns = t.shape.dims.back();
  const int64_t start = t.shape.rank() == 2 ? 0 : matrix * rows * columns;
  return t.data[start + (transposed ? column * columns + row : row * columns + column)];
}

std::vector<float> NaiveMatMul(const Tensor& a, const Tensor& b, const Tensor& out, bool ta,
                               bool tb) {
  const int64_t m = out.shape.dims[out.shape.rank() - 2], n = out.shape.dims.back();
  const int64_t k = ta ? a.shape.dims[a.shape.rank() - 2] : a.shape.dims.back();
  std::vector<float> c;
  for (int64_t i = 0; i < static_cast<int64_t>(out.data.size()) / (m * n); ++i) {
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t x = 0; x < k; ++x) {
          sum += MatrixElement(a, ta, i, row, x) * MatrixElement(b, tb, i, x, column);
        }
        c.push_back(static_cast<float>(sum));
      }
    }
  }
  return c;
}

struct Case {
  Dims a, b;
  bool ta, tb;
};

class MatMulTest : public testing::TestWithParam<Case> {};

TEST_P(MatMulTest, EqualsANaiveLoopAndHasRightGradients) {
  const Case& c = GetParam();
  Graph g;
  const Var a = Operand(g, "a", c.a);
  const Var b = Operand(g, "b", c.b);
  const Var y = MatMul(a, b, {.transpose_a = c.ta, .transpose_b = c.tb});
  const auto v = Evaluate(g, {a, b, y});
  ExpectNear(v[2], NaiveMatMul(v[0], v[1], v[2], c.ta, c.tb));
  EXPECT_OK(CheckGradientsOfManyBatches(g, y));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, MatMulTest,
    testing::Values(Case{{0, 3}, {3, 4}, false, false}, Case{{0, 3}, {4, 3}, false, true},
                    Case{{2, 3}, {3, 4}, false, false}, Case{{3, 2}, {3, 4}, true, false},
                    Case{{3, 2}, {4, 3}, true, true}, Case{{0, 2, 3}, {0, 3, 4}, false, false},
                    Case{{0, 3, 2}, {0, 3, 4}, true, false},
                    Case{{0, 2, 3}, {0, 4, 3}, false, true}, Case{{0, 3, 2}, {0, 4, 3}, true, true},
                    Case{{0, 2, 3}, {3, 4}, false, false}, Case{{0, 3, 2}, {3, 4}, true, false},
                    Case{{0, 2, 3}, {4, 3}, false, true}, Case{{2, 3}, {0, 3, 4}, false, false},
                    Case{{3, 2}, {0, 4, 3}, true, true},
                    Case{{0, 2, 1, 3}, {0, 2, 3, 2}, false, false},
                    Case{{2, 2, 3}, {2, 3, 1}, false, false}));

TEST(MatMulOpTest, AValueTimesItselfGetsBothGradients) {
  Graph g;
  const Var x = RandomRows(g, "x", {2, 3});
  EXPECT_OK(CheckGradientsOfManyBatches(g, MatMul(x, x, {.transpose_b = true})));
}

TEST(MatMulOpTest, ShapesThatDoNotFitOrMixRowsAreNamed) {
  const auto error = [](const Dims& a, const Dims& b, MatMulOptions options) {
    Graph g;
    MatMul(Operand(g, "a", a), Operand(g, "b", b), options);
    return ErrorOf(g);
  };
  EXPECT_EQ(error({0, 3}, {4, 2}, {}),
            "matmul matmul_0: (batch, 3) and (4, 2) cannot be multiplied");
  EXPECT_EQ(error({0, 3}, {0, 3}, {.transpose_b = true}),
            "matmul matmul_0: (batch, 3) and (batch, 3) transposed cannot be multiplied");
  EXPECT_EQ(error({0, 3}, {0, 2}, {.transpose_a = true}),
            "matmul matmul_0: (batch, 3) transposed and (batch, 2) cannot be multiplied");
  EXPECT_EQ(error({3}, {3, 2}, {}), "matmul matmul_0: (3) and (3, 2) cannot be multiplied");
  EXPECT_EQ(error({0, 2, 3}, {2, 3, 4}, {}),
            "matmul matmul_0: (batch, 2, 3) and (2, 3, 4) cannot be multiplied");
}

TEST(DotTest, SumsProductsOfRows) {
  for (const Dims& dims : {Dims{1}, Dims{5}, Dims{2, 3}}) {
    Graph g;
    const Var a = RandomRows(g, "a", dims);
    const Var b = RandomRows(g, "b", dims);
    const Var y = Dot(a, b);
    const auto v = Evaluate(g, {a, b, y});
    const int64_t n = dims.back();
    std::vector<float> expected(v[0].data.size() / n);
    for (size_t i = 0; i < v[0].data.size(); ++i) expected[i / n] += v[0].data[i] * v[1].data[i];
    ExpectNear(v[2], expected);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
    EXPECT_OK(CheckGradients(g, Dot(a, a)));
  }
}

TEST(DotTest, DifferentShapesAreAnError) {
  Graph g;
  Dot(g.Dense("a", 3), g.Dense("b", 4));
  EXPECT_ERROR(g, "dot dot_0: shapes (batch, 3) and (batch, 4) are not equal");
}

}  // namespace
}  // namespace flotilla
