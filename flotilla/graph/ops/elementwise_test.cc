#include "flotilla/graph/ops/elementwise.h"

#include <algorithm>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

struct BinaryFunction {
  const char* name;
  Var (*layer)(Var, Var);
  float (*naive)(float, float);
};

const BinaryFunction kBinaryFunctions[] = {
    {"Add", Add, [](float a, float b) { return a + b; }},
    {"Sub", Sub, [](float a, float b) { return a - b; }},
    {"Mul", Mul, [](float a, float b) { return a * b; }},
    {"Div", Div, [](float a, float b) { return a / b; }},
    {"Max", Max, [](float a, float b) { return std::max(a, b); }},
};

// Element `index` of a value of shape `full`, read from an operand that may be smaller.
float At(const Tensor& operand, const std::vector<int64_t>& full, int64_t index) {
  int64_t offset = 0, distance = 1;
  for (int back = 1; back <= operand.shape.rank(); ++back) {
    const int64_t dim = operand.shape.dims[operand.shape.rank() - back];
    const int64_t coordinate = index % full[full.size() - back];
    index /= full[full.size() - back];
    if (dim != 1) offset += coordinate * distance;
    distance *= dim;
  }
  return operand.data[offset];
}

class ElementwiseTest : public testing::TestWithParam<std::pair<Dims, Dims>> {};

TEST_P(ElementwiseTest, EqualsANaiveLoopAndHasRightGradients) {
  // Values away from 0, for the division; the ranges differ so that Max selects from both sides.
  const GradCheckOptions options{.low = 0.5, .high = 2};
  for (const BinaryFunction& f : kBinaryFunctions) {
    Graph g;
    const Var a = Operand(g, "a", GetParam().first);
    const Var b = Operand(g, "b", GetParam().second);
    const Var y = f.layer(a, b);
    const auto v = Evaluate(g, {a, b, y}, options);
    std::vector<float> expected;
    for (size_t i = 0; i < v[2].data.size(); ++i) {
      expected.push_back(f.naive(At(v[0], v[2].shape.dims, i), At(v[1], v[2].shape.dims, i)));
    }
    SCOPED_TRACE(f.name);
    ExpectNear(v[2], expected);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ElementwiseTest,
    testing::Values(std::pair<Dims, Dims>{{0, 5}, {0, 5}}, std::pair<Dims, Dims>{{0, 5}, {0, 1}},
                    std::pair<Dims, Dims>{{0, 1}, {0, 5}}, std::pair<Dims, Dims>{{0, 5}, {5}},
                    std::pair<Dims, Dims>{{5}, {0, 5}}, std::pair<Dims, Dims>{{0, 5}, {1, 5}},
                    std::pair<Dims, Dims>{{0, 5}, {}}, std::pair<Dims, Dims>{{}, {0, 5}},
                    std::pair<Dims, Dims>{{0, 3, 2}, {3, 1}},
                    std::pair<Dims, Dims>{{0, 3, 1}, {0, 1, 2}},
                    std::pair<Dims, Dims>{{0, 1, 2}, {3, 1}}, std::pair<Dims, Dims>{{3, 2}, {2}},
                    std::pair<Dims, Dims>{{}, {}}, std::pair<Dims, Dims>{{0, 1}, {1}}));

TEST(ElementwiseOpTest, TheSameValueTwiceGetsBothGradients) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  EXPECT_OK(CheckGradientsOfManyBatches(g, x * x - x / (x + 3.0)));
}

TEST(ElementwiseOpTest, EqualValuesGiveTheGradientOfMaxToTheFirst) {
  Graph g;
  const Var x = g.Parameter("x", {2}, {});
  // max(x, x) has the slope 1; given to both sides it would be 2.
  EXPECT_OK(CheckGradients(g, Max(x, x)));
}

TEST(ElementwiseOpTest, ShapesThatDoNotFitAreNamed) {
  const auto error = [](const Dims& a, const Dims& b) {
    Graph g;
    Add(Operand(g, "a", a), Operand(g, "b", b));
    return ErrorOf(g);
  };
  EXPECT_EQ(error({0, 5}, {0, 4}),
            "add add_0: shapes (batch, 5) and (batch, 4) do not fit together");
  EXPECT_EQ(error({0, 5}, {4, 5}), "add add_0: shapes (batch, 5) and (4, 5) do not fit together");
  EXPECT_EQ(error({0, 5}, {2, 1, 5}),
            "add add_0: shapes (batch, 5) and (2, 1, 5) do not fit together");
  EXPECT_EQ(error({0, 2, 5}, {0, 5}),
            "add add_0: shapes (batch, 2, 5) and (batch, 5) do not fit together");
}

TEST(ElementwiseOpTest, OperatorsWithNumbers) {
  Graph g;
  const Var x = RandomRows(g, "x", {4});
  const auto v = Evaluate(g, {x, 2.0 * x + 1.0, 1.0 - x / 4.0, -(x - 0.5)});
  std::vector<float> a, b, c;
  for (float e : v[0].data) {
    a.push_back(2 * e + 1);
    b.push_back(1 - e / 4);
    c.push_back(0.5f - e);
  }
  ExpectNear(v[1], a);
  ExpectNear(v[2], b);
  ExpectNear(v[3], c);
}

}  // namespace
}  // namespace flotilla
