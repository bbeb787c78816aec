#include "flotilla/graph/ops/fc.h"

#include <cmath>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/kernels/gemm.h"

namespace flotilla {
namespace {

struct FcCase {
  const char* name;
  ActivationLayer activation;
};

class FcTest : public testing::TestWithParam<FcCase> {};

float Naive(const std::string& activation, float x) {
  if (activation == "relu") return std::max(x, 0.0f);
  if (activation == "sigmoid") return 1 / (1 + std::exp(-x));
  if (activation == "tanh") return std::tanh(x);
  return x;
}

std::vector<float> NaiveFc(const Tensor& x, const Tensor& w, const Tensor& b,
                           const std::string& activation) {
  const int64_t in = w.shape.dims[0], out = w.shape.dims[1];
  std::vector<float> y;
  for (size_t r = 0; r < x.data.size() / in; ++r) {
    std::vector<double> row(out);
    double total = 0;
    for (int64_t c = 0; c < out; ++c) {
      row[c] = b.data.empty() ? 0 : b.data[c];
      for (int64_t k = 0; k < in; ++k) row[c] += x.data[r * in + k] * w.data[k * out + c];
      total += std::exp(row[c]);
    }
    for (double value : row) {
      y.push_back(activation == "softmax" ? static_cast<float>(std::exp(value) / total)
                                          : Naive(activation, static_cast<float>(value)));
    }
  }
  return y;
}

TEST_P(FcTest, EqualsANaiveLoop) {
  for (int64_t out : {1, 2, 5, 16, 17, 40}) {
    Graph g;
    const Var x = RandomRows(g, "x", {3, 4});
    const Var y = Fc(x, out, GetParam().activation);
    const Var w(g.mutable_def(), g.def().FindVar("fc_0.w_0"));
    const Var b(g.mutable_def(), g.def().FindVar("fc_0.b_0"));
    for (int64_t block_rows : {256, 3}) {
      const auto v = Evaluate(g, {x, w, b, y}, {.block_rows = block_rows});
      ExpectNear(v[3], NaiveFc(v[0], v[1], v[2], GetParam().name));
    }
  }
}

TEST_P(FcTest, AppliedToEachPositionEqualsANaiveLoop) {
  for (int64_t out : {1, 17}) {
    Graph g;
    const Var x = RandomRows(g, "x", {3, 2, 4});
    const Var y = Fc(x, out, GetParam().activation, {.flatten_from = 3});
    const Var z = Fc(x, out, GetParam().activation, {.flatten_from = 2});
    EXPECT_EQ(y.shape(), Shape::PerRow({3, 2, out}));
    EXPECT_EQ(z.shape(), Shape::PerRow({3, out}));
    const Var w(g.mutable_def(), g.def().FindVar("fc_0.w_0"));
    const Var b(g.mutable_def(), g.def().FindVar("fc_0.b_0"));
    for (int64_t block_rows : {256, 3}) {
      const auto v = Evaluate(g, {x, w, b, y}, {.block_rows = block_rows});
      ExpectNear(v[3], NaiveFc(v[0], v[1], v[2], GetParam().name));
    }
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
    EXPECT_OK(CheckGradientsOfManyBatches(g, z));
  }
}

TEST(FcOpTest, FlattenFromMustBeAnAxis) {
  for (int64_t axis : {0, 3, 9}) {
    Graph g;
    Fc(RandomRows(g, "x", {3, 4}), 2, nullptr, {.flatten_from = axis});
    EXPECT_ERROR(g, fmt::format("fc fc_0: flatten_from {} is not an axis after the first", axis));
  }
}

TEST_P(FcTest, GradientsAreRight) {
  for (int64_t out : {2, 17}) {
    Graph g;
    const Var y = Fc(Fc(RandomRows(g, "x", {3}), out, GetParam().activation), 2);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
  }
}

INSTANTIATE_TEST_SUITE_P(Activations, FcTest,
                         testing::Values(FcCase{"none", nullptr}, FcCase{"relu", Relu},
                                         FcCase{"sigmoid", Sigmoid}, FcCase{"tanh", Tanh},
                                         FcCase{"softmax", Softmax}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(FcOpTest, WithoutBiasThereIsNone) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  const Var y = Fc(x, 18, Relu, {.use_bias = false});
  EXPECT_EQ(g.def().FindParameter("fc_0.b_0"), -1);
  const Var w(g.mutable_def(), g.def().FindVar("fc_0.w_0"));
  const auto v = Evaluate(g, {x, w, y});
  ExpectNear(v[2], NaiveFc(v[0], v[1], {}, "relu"));
  EXPECT_OK(CheckGradientsOfManyBatches(g, y));
}

TEST(FcOpTest, LayersThatShareTheirWeightAddTheirGradients) {
  for (int64_t size : {4, 17}) {
    Graph g;
    const FcOptions shared{.weight = {.name = "w"}, .bias = {.name = "b"}};
    const Var y = Fc(Fc(RandomRows(g, "x", {size}), size, Tanh, shared), size, Tanh, shared);
    EXPECT_EQ(g.def().parameters.size(), 2u);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
  }
}

TEST(FcOpTest, ADenseInputNeedsNoGradient) {
  Graph g;
  const Var y = Fc(g.Dense("x", 5), 20, Sigmoid);
  EXPECT_OK(CheckGradientsOfManyBatches(g, y));
}

TEST(FcOpTest, AnActivationOfOnesOwnIsAppliedBehindIt) {
  Graph g;
  const Var y = Fc(RandomRows(g, "x", {3}), 2, [](Var v) { return LeakyRelu(v, 0.1); });
  EXPECT_EQ(g.def().nodes.back().op, "leaky_relu");
  EXPECT_OK(CheckGradientsOfManyBatches(g, y));
}

TEST(FcOpTest, JoinedWithCrossEntropyTheGradientIsTheSame) {
  for (int64_t classes : {2, 20}) {
    Graph g;
    const Var predict = Fc(RandomRows(g, "x", {4}), classes, Softmax);
    const Var loss = ReduceSum(CrossEntropy(predict, g.Label("label")));
    EXPECT_OK(CheckGradientsOfManyBatches(g, loss, {.labels = classes}));
  }
}

TEST(FcOpTest, AWeightThatDoesNotFitIsNamedWithBothShapes) {
  Graph g;
  Fc(g.Dense("x", 5), 3, nullptr, {.weight = {.name = "w"}});
  Fc(g.Dense("y", 6), 3, nullptr, {.weight = {.name = "w"}});
  EXPECT_ERROR(g, "parameter w: used with shapes (5, 3) and (6, 3)");
}

TEST(FcOpTest, BadSizesAndInputsAreErrors) {
  Graph negative;
  Fc(negative.Dense("x", 5), -3);
  EXPECT_ERROR(negative, "fc fc_0: size -3 is not positive (input x of shape (batch, 5))");

  Graph ids;
  Fc(ids.Ids("clicks"), 3);
  EXPECT_ERROR(ids, "fc fc_0: input clicks is a list of ids");

  Graph unknown;
  const std::vector<Var> inputs{unknown.Dense("x", 2), unknown.Parameter("w", {2, 2}, {})};
  AddNode(unknown.mutable_def(), "fc", "", inputs, {{"activation", std::string("swish")}});
  EXPECT_ERROR(unknown, "fc fc_0: activation 'swish' is not one of");
}

}  // namespace
}  // namespace flotilla
