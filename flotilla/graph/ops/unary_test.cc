#include "flotilla/graph/ops/unary.h"

#include <algorithm>
#include <cmath>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

struct UnaryFunction {
  const char* name;
  Var (*layer)(Var);
  double (*naive)(double);
  bool positive;  // defined above 0 only
};

const UnaryFunction kUnaryFunctions[] = {
    {"Relu", Relu, [](double x) { return std::max(x, 0.0); }, false},
    {"LeakyRelu", [](Var x) { return LeakyRelu(x, 0.1); },
     [](double x) { return x < 0 ? 0.1 * x : x; }, false},
    {"Sigmoid", Sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, false},
    {"Tanh", Tanh, [](double x) { return std::tanh(x); }, false},
    {"Exp", Exp, [](double x) { return std::exp(x); }, false},
    {"Log", Log, [](double x) { return std::log(x); }, true},
    {"Sqrt", Sqrt, [](double x) { return std::sqrt(x); }, true},
    {"Square", Square, [](double x) { return x * x; }, false},
    {"Scale", [](Var x) { return Scale(x, -2.5, 0.75); }, [](double x) { return 0.75 - 2.5 * x; },
     false},
    {"Clip", [](Var x) { return Clip(x, -0.5, 0.25); },
     [](double x) { return std::clamp(x, -0.5, 0.25); }, false},
};

class UnaryTest : public testing::TestWithParam<UnaryFunction> {
 protected:
  GradCheckOptions options() const {
    return GetParam().positive ? GradCheckOptions{.low = 0.5, .high = 2} : GradCheckOptions{};
  }
};

TEST_P(UnaryTest, EqualsANaiveLoop) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1}, {13}, {2, 3, 2}}) {
    Graph g;
    const Var x = RandomRows(g, "x", dims);
    const Var y = GetParam().layer(x);
    EXPECT_EQ(y.shape(), x.shape());
    const auto v = Evaluate(g, {x, y}, options());
    std::vector<float> expected;
    for (float e : v[0].data) expected.push_back(static_cast<float>(GetParam().naive(e)));
    ExpectNear(v[1], expected);
  }
}

TEST_P(UnaryTest, GradientsAreRight) {
  Graph g;
  EXPECT_OK(
      CheckGradientsOfManyBatches(g, GetParam().layer(RandomRows(g, "x", {3, 2})), options()));
}

TEST_P(UnaryTest, GradientsAreRightWhereItMayRunInPlaceAndOnParameters) {
  Graph g;
  // The inner sum has no other reader: its memory may be used for the result.
  const Var x = RandomRows(g, "x", {3}) + g.Parameter("p", {3}, {});
  GradCheckOptions positive = options();
  EXPECT_OK(CheckGradientsOfManyBatches(g, GetParam().layer(x) * 2.0, positive));
  Graph h;
  EXPECT_OK(CheckGradients(h, GetParam().layer(h.Parameter("p", {4}, {})), options()));
}

INSTANTIATE_TEST_SUITE_P(Functions, UnaryTest, testing::ValuesIn(kUnaryFunctions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(UnaryOpTest, BadAttributesAreErrors) {
  Graph g;
  LeakyRelu(g.Dense("x", 2), -1);
  EXPECT_ERROR(g, "leaky_relu leaky_relu_0: slope -1 is not above 0");
  Graph h;
  Clip(h.Dense("x", 2), 2, 1);
  EXPECT_ERROR(h, "clip clip_0: low 2 is above high 1");
}

}  // namespace
}  // namespace flotilla
