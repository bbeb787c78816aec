#include "flotilla/graph/ops/softmax.h"

#include <cmath>

#include "flotilla/graph/ops/op_testing.h"

namespace flotilla {
namespace {

TEST(SoftmaxTest, EqualsANaiveLoopAndHasRightGradients) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1}, {2}, {19}, {2, 3}}) {
    for (bool logarithm : {false, true}) {
      Graph g;
      const Var x = RandomRows(g, "x", dims);
      const Var y = logarithm ? LogSoftmax(x) : Softmax(x);
      const auto v = Evaluate(g, {x, y});
      const size_t n = dims.back();
      std::vector<float> expected;
      for (size_t i = 0; i < v[0].data.size(); ++i) {
        double sum = 0;
        for (size_t c = 0; c < n; ++c) sum += std::exp(v[0].data[i / n * n + c]);
        const double p = std::exp(v[0].data[i]) / sum;
        expected.push_back(static_cast<float>(logarithm ? std::log(p) : p));
      }
      ExpectNear(v[1], expected);
      EXPECT_OK(CheckGradientsOfManyBatches(g, y));
    }
  }
}

TEST(SoftmaxTest, JoinedWithCrossEntropyOrReadTwiceTheGradientIsRight) {
  Graph g;
  const Var p = Softmax(RandomRows(g, "x", {3}));
  const Var loss = CrossEntropy(p, g.Label("label"));
  EXPECT_OK(CheckGradientsOfManyBatches(g, loss, {.labels = 3}));
  // A second reader with a gradient: the two cannot be fused.
  EXPECT_OK(CheckGradientsOfManyBatches(g, ReduceSum(loss) + ReduceSum(Square(p)), {.labels = 3}));
}

TEST(SoftmaxTest, AValueWithoutColumnsIsAnError) {
  Graph g;
  Softmax(ReduceSum(g.Dense("x", 3), {1}));
  EXPECT_ERROR(g, "softmax softmax_0: input of shape (batch) has no columns");
}

}  // namespace
}  // namespace flotilla
