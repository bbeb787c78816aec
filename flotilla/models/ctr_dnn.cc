#include "flotilla/models/ctr_dnn.h"

#include "flotilla/graph/layers.h"
#include "flotilla/optim/schedule.h"

namespace flotilla {
namespace {

constexpr int kSlots = 26;
constexpr int64_t kNumbers = 13;

OptimizerSpec OptimizerOf(const CtrDnnOptions& options) {
  return {.name = options.optimizer, .learning_rate = ConstantRate(options.learning_rate)};
}

}  // namespace

StatusOr<CtrDnnOptions> CtrDnnRecipe(const std::string& name) {
  if (name == "default") return CtrDnnOptions{};
  if (name == "seeds") return CtrDnnOptions{.start_range = 1, .learning_rate = 1e-4};
  return InvalidArgument("recipe {}: known are default and seeds", name);
}

Model CtrDnn(const CtrDnnOptions& options) {
  Graph g;
  const Var dense = g.Dense("dense_input", kNumbers);
  std::vector<Var> features;
  for (int i = 1; i <= kSlots; ++i) {
    features.push_back(Embedding(g.Ids(fmt::format("C{}", i)),
                                 {.table = "SparseFeatFactors",
                                  .dim = options.dim,
                                  .rows = options.sparse_feature_dim,
                                  .init = Uniform(-options.start_range, options.start_range)}));
  }
  features.push_back(dense);
  Var x = Concat(features);
  for (int64_t width : options.layers) x = Fc(x, width, Relu);
  const Var predict = Fc(x, 2, Softmax);
  const Var label = g.Label("label");
  const Var loss = ReduceSum(CrossEntropy(predict, label));
  return {
      .graph = std::move(g),
      .loss = loss,
      .optimizer = OptimizerOf(options),
      .metrics = {Auc(predict, label), LogLossMetric(predict, label), Accuracy(predict, label)}};
}

}  // namespace flotilla
