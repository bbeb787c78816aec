#include "flotilla/graph/ops/norm.h"

#include <cmath>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/graph/ops/op_testing.h"
#include "flotilla/graph/step.h"

namespace flotilla {
namespace {

Var Find(Graph& g, const std::string& name) { return Var(g.mutable_def(), g.def().FindVar(name)); }

// (x - mean) / sqrt(variance + epsilon) of some elements, in double.
std::vector<double> Normalized(const std::vector<double>& x, double epsilon) {
  double mean = 0, variance = 0;
  for (double e : x) mean += e / static_cast<double>(x.size());
  for (double e : x) variance += (e - mean) * (e - mean) / static_cast<double>(x.size());
  std::vector<double> y;
  for (double e : x) y.push_back((e - mean) / std::sqrt(variance + epsilon));
  return y;
}

TEST(LayerNormTest, EqualsANaiveLoopAndHasRightGradients) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{5}, {3, 4}, {1}}) {
    Graph g;
    const Var x = RandomRows(g, "x", dims);
    const Var y = LayerNorm(x, {.epsilon = 0.01});
    const auto v = Evaluate(g, {x, Find(g, "layer_norm_0.w_0"), Find(g, "layer_norm_0.b_0"), y});
    const int64_t n = dims.back();
    std::vector<float> expected;
    for (size_t r = 0; r < v[0].data.size() / n; ++r) {
      const auto begin = v[0].data.begin() + static_cast<int64_t>(r) * n;
      const auto normal = Normalized({begin, begin + n}, 0.01);
      for (int64_t c = 0; c < n; ++c) {
        expected.push_back(static_cast<float>(normal[c] * v[1].data[c] + v[2].data[c]));
      }
    }
    ExpectNear(v[3], expected, 1e-4);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
  }
}

TEST(BatchNormTest, TrainingUsesTheStatisticsOfTheBatch) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3}, {2, 3}}) {
    Graph g;
    const Var x = RandomRows(g, "x", dims);
    const Var y = BatchNorm(x, {.epsilon = 0.01});
    // Small blocks must not change anything: the op forbids them.
    const auto v = Evaluate(g, {x, Find(g, "batch_norm_0.w_0"), Find(g, "batch_norm_0.b_0"), y},
                            {.block_rows = 2});
    const size_t n = 3;
    std::vector<float> expected(v[0].data.size());
    for (size_t c = 0; c < n; ++c) {
      std::vector<double> column;
      for (size_t i = c; i < v[0].data.size(); i += n) column.push_back(v[0].data[i]);
      const auto normal = Normalized(column, 0.01);
      for (size_t r = 0; r < normal.size(); ++r) {
        expected[r * n + c] = static_cast<float>(normal[r] * v[1].data[c] + v[2].data[c]);
      }
    }
    ExpectNear(v[3], expected, 1e-4);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
  }
}

TEST(BatchNormTest, InferenceUsesTheParameters) {
  Graph g;
  const Var x = RandomRows(g, "x", {3});
  const Var y = BatchNorm(x, {.name = "bn", .epsilon = 0.01});
  const GradCheckOptions inference{.training = false};
  const auto v = Evaluate(
      g, {x, Find(g, "bn.w_0"), Find(g, "bn.b_0"), Find(g, "bn.mean"), Find(g, "bn.variance"), y},
      inference);
  std::vector<float> expected;
  for (size_t i = 0; i < v[0].data.size(); ++i) {
    const size_t c = i % 3;
    expected.push_back((v[0].data[i] - v[3].data[c]) / std::sqrt(v[4].data[c] + 0.01f) *
                           v[1].data[c] +
                       v[2].data[c]);
  }
  ExpectNear(v[5], expected, 1e-4);
  EXPECT_OK(CheckGradientsOfManyBatches(g, y, inference));
}

// Gradients of a model on part of a batch of x = (1, 3, 5, 11), in which column 0 is normalised.
Gradients StatisticsOf(const Plan& plan, int64_t begin, int64_t end) {
  Batch batch;
  batch.rows = 4;
  batch.fields.resize(1);
  batch.fields[0].values = {1, 3, 5, 11};
  Step step(&plan, {});
  EXPECT_OK(step.Prepare(BatchSlice(batch, begin, end)));
  const AlignedVector<float> dense(plan.layout().size(), 1.0f);
  Gradients gradients;
  EXPECT_OK(step.Run(dense, &gradients));
  return gradients;
}

TEST(BatchNormTest, StatisticsTravelAsGradientsAndPartsOfABatchAddUp) {
  Graph g;
  const Var loss = ReduceSum(BatchNorm(g.Dense("x", 1), {.name = "bn", .momentum = 0.8}));
  const int mean = g.def().FindParameter("bn.mean");
  const int variance = g.def().FindParameter("bn.variance");
  EXPECT_EQ(g.def().parameters[mean].moving_average_keep, 0.8);
  EXPECT_EQ(g.def().parameters[variance].moving_average_keep, 0.8);
  auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto value = [&](const Gradients& gradients, int parameter) {
    return gradients.dense[(*plan)->layout().offset(parameter)];
  };
  const Gradients whole = StatisticsOf(**plan, 0, 4);
  EXPECT_FLOAT_EQ(value(whole, mean), 5);
  EXPECT_FLOAT_EQ(value(whole, variance), (16 + 4 + 0 + 36) / 4.0f);
  const Gradients first = StatisticsOf(**plan, 0, 1);
  const Gradients rest = StatisticsOf(**plan, 1, 4);
  EXPECT_FLOAT_EQ(value(first, mean) + value(rest, mean), 5);
}

// Inference computes with the statistics, so they follow the batches even where no gradient
// arrives: behind StopGradient, in a value that is only fetched, in one that is not read at all.
TEST(BatchNormTest, StatisticsFollowBatchesThatTheLossDoesNotReach) {
  Graph g;
  const Var x = g.Dense("x", 1);
  const Var stopped = BatchNorm(x, {.name = "stopped"});
  const Var fetched = BatchNorm(Scale(x, 2), {.name = "fetched"});
  BatchNorm(Scale(x, 3), {.name = "unread"});
  const Var loss = ReduceSum(Fc(StopGradient(stopped), 1));
  auto plan = Plan::Make(g.def(), {.loss = loss.index(), .fetches = {fetched.index()}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Gradients gradients = StatisticsOf(**plan, 0, 4);
  const auto value = [&](const std::string& name) {
    return gradients.dense[(*plan)->layout().offset(g.def().FindParameter(name))];
  };
  EXPECT_FLOAT_EQ(value("stopped.mean"), 5);
  EXPECT_FLOAT_EQ(value("stopped.variance"), 14);
  EXPECT_FLOAT_EQ(value("fetched.mean"), 10);
  EXPECT_FLOAT_EQ(value("fetched.variance"), 56);
  EXPECT_FLOAT_EQ(value("unread.mean"), 15);
  // Parameters that do not affect the loss have no gradient: scale and shift of the three.
  const std::span<const int> unused = (*plan)->unused_parameters();
  EXPECT_EQ(unused.size(), 6u);
  for (const int parameter : unused) {
    EXPECT_EQ(g.def().parameters[parameter].moving_average_keep, 0);
  }
}

TEST(L2NormalizeTest, EqualsANaiveLoopAndHasRightGradients) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{5}, {2, 3}}) {
    Graph g;
    const Var x = RandomRows(g, "x", dims);
    const Var y = L2Normalize(x, 0.1);
    const auto v = Evaluate(g, {x, y});
    const int64_t n = dims.back();
    std::vector<float> expected;
    for (size_t i = 0; i < v[0].data.size(); ++i) {
      double sum = 0.1;
      for (int64_t c = 0; c < n; ++c) {
        const float e = v[0].data[static_cast<int64_t>(i) / n * n + c];
        sum += e * e;
      }
      expected.push_back(static_cast<float>(v[0].data[i] / std::sqrt(sum)));
    }
    ExpectNear(v[1], expected);
    EXPECT_OK(CheckGradientsOfManyBatches(g, y));
  }
}

TEST(NormTest, BadInputsAndParametersAreErrors) {
  Graph g;
  BatchNorm(g.Parameter("p", {3, 2}, {}));
  EXPECT_ERROR(g, "batch_norm batch_norm_0: input of shape (3, 2) has no rows of a batch");
  Graph h;
  LayerNorm(ReduceSum(h.Dense("x", 3)));
  EXPECT_ERROR(h, "layer_norm layer_norm_0: input reduce_sum_0 of shape () has no columns");
  Graph i;
  LayerNorm(i.Dense("x", 3), {.scale = {.name = "w"}});
  LayerNorm(i.Dense("y", 4), {.scale = {.name = "w"}});
  EXPECT_ERROR(i, "parameter w: used with shapes (3) and (4)");
  Graph j;
  BatchNorm(j.Dense("x", 3), {.momentum = 1.5});
  EXPECT_ERROR(j, "momentum 1.5 is not between 0 and 1");
}

}  // namespace
}  // namespace flotilla
