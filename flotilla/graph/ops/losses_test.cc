#include "flotilla/graph/ops/losses.h"

#include <cmath>

#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/step.h"

namespace flotilla {
namespace {

TEST(CrossEntropyTest, EqualsANaiveLoopAndHasRightGradients) {
  // Probabilities that are not from a softmax: the two cannot be fused.
  const GradCheckOptions options{.low = 0.2, .high = 0.9, .labels = 4};
  Graph g;
  const Var p = RandomRows(g, "p", {4});
  const Var label = g.Label("label");
  const Var y = CrossEntropy(p, label);
  EXPECT_EQ(y.shape(), Shape::PerRow({1}));
  const auto v = Evaluate(g, {p, label, y}, options);
  std::vector<float> expected;
  for (size_t r = 0; r < 7; ++r) {
    expected.push_back(-std::log(v[0].data[r * 4 + static_cast<size_t>(v[1].data[r])]));
  }
  ExpectNear(v[2], expected);
  EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
}

TEST(CrossEntropyTest, AProbabilityOfZeroGivesAFiniteLoss) {
  Graph g;
  const Var zeros = FillLikeBatch(g.Dense("x", 1), {3}, 0);
  const auto v = Evaluate(g, {CrossEntropy(zeros, g.Label("label"))});
  ExpectNear(v[0], std::vector<float>(7, -std::log(kSmallestProbability)));
}

TEST(SoftmaxWithCrossEntropyTest, EqualsANaiveLoopAndHasRightGradients) {
  for (int64_t classes : {1, 2, 5, 21}) {
    const GradCheckOptions options{.labels = classes};
    Graph g;
    const Var x = RandomRows(g, "x", {classes});
    const Var label = g.Label("label");
    const Var y = SoftmaxWithCrossEntropy(x, label);
    const auto v = Evaluate(g, {x, label, y}, options);
    std::vector<float> expected;
    for (int64_t r = 0; r < 7; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(v[0].data[r * classes + c]);
      const auto chosen = static_cast<int64_t>(v[1].data[r]);
      expected.push_back(static_cast<float>(std::log(sum) - v[0].data[r * classes + chosen]));
    }
    ExpectNear(v[2], expected);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
  }
}

TEST(SoftmaxWithCrossEntropyTest, LargeScoresAreExact) {
  Graph g;
  const Var x = Concat(
      {FillLikeBatch(g.Dense("x", 1), {1}, 1000), FillLikeBatch(g.Dense("x", 1), {1}, -1000)});
  const auto v =
      Evaluate(g, {SoftmaxWithCrossEntropy(x, Cast(FillLikeBatch(x, {1}, 1), DType::kInt))});
  ExpectNear(v[0], std::vector<float>(7, 2000));
}

std::string RunError(const Graph& g, Var fetch, int64_t labels) {
  const auto v = EvaluateRandom(g, {fetch}, {.labels = labels});
  return v.ok() ? "OK" : std::string(Message(v.status()));
}

TEST(LabelTest, ALabelOutsideTheClassesIsAnErrorThatNamesTheRow) {
  for (const bool fused : {false, true}) {
    Graph g;
    const Var x = g.Dense("x", 2);
    const Var label = g.Label("label");
    const Var y = fused ? CrossEntropy(Softmax(x), label) : SoftmaxWithCrossEntropy(x, label);
    EXPECT_EQ(RunError(g, y, 2), "OK");
    EXPECT_NE(RunError(g, y, 50).find("is not a whole number in [0, 2)"), std::string::npos)
        << RunError(g, y, 50);
    EXPECT_NE(RunError(g, y, 50).find("cross_entropy_0: row "), std::string::npos);
  }
  Graph g;
  const Var y = CrossEntropy(Softmax(g.Dense("x", 2)), FillLikeBatch(g.Dense("x", 2), {1}, 0.5));
  EXPECT_NE(RunError(g, y, 2).find("row 0: label 0.5 is not"), std::string::npos);
}

TEST(LabelTest, ShapesThatDoNotFitAreNamed) {
  Graph g;
  CrossEntropy(g.Dense("p", 3), g.Dense("label", 2));
  EXPECT_ERROR(g,
               "cross_entropy cross_entropy_0: scores of shape (batch, 3) and label of shape "
               "(batch, 2)");
  Graph h;
  SoftmaxWithCrossEntropy(h.Parameter("p", {3, 3}, {}), h.Label("label"));
  EXPECT_ERROR(h, "scores of shape (3, 3) and label of shape (batch, 1)");
}

struct PairLoss {
  const char* name;
  Var (*layer)(Var, Var);
  double (*naive)(double, double);
  bool probabilities;
};

const PairLoss kPairLosses[] = {
    {"SigmoidCrossEntropyWithLogits", SigmoidCrossEntropyWithLogits,
     [](double x, double z) {
       const double p = 1 / (1 + std::exp(-x));
       return -z * std::log(p) - (1 - z) * std::log(1 - p);
     },
     false},
    {"SquareError", SquareError, [](double x, double z) { return (x - z) * (x - z); }, false},
    {"LogLoss", [](Var p, Var z) { return LogLoss(p, z, 0.01); },
     [](double p, double z) { return -z * std::log(p + 0.01) - (1 - z) * std::log(1 - p + 0.01); },
     true},
};

class PairLossTest : public testing::TestWithParam<PairLoss> {};

TEST_P(PairLossTest, EqualsANaiveLoopAndHasRightGradientsToBothSides) {
  GradCheckOptions options;
  if (GetParam().probabilities) options = {.low = 0.2, .high = 0.8};
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1}, {2, 3}}) {
    Graph g;
    const Var x = RandomRows(g, "x", dims);
    const Var z = RandomRows(g, "z", dims);
    const Var y = GetParam().layer(x, z);
    const auto v = Evaluate(g, {x, z, y}, options);
    std::vector<float> expected;
    for (size_t i = 0; i < v[0].data.size(); ++i) {
      expected.push_back(static_cast<float>(GetParam().naive(v[0].data[i], v[1].data[i])));
    }
    ExpectNear(v[2], expected);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y, options));
  }
}

TEST_P(PairLossTest, DifferentShapesAreAnError) {
  Graph g;
  GetParam().layer(g.Dense("x", 2), g.Label("z"));
  EXPECT_ERROR(g, "input of shape (batch, 2) and label of shape (batch, 1) differ");
}

INSTANTIATE_TEST_SUITE_P(Losses, PairLossTest, testing::ValuesIn(kPairLosses),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace flotilla
