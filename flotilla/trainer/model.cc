#include "flotilla/trainer/model.h"

#include <fmt/ranges.h>

#include <memory>

#include "flotilla/graph/plan.h"
#include "flotilla/metric/metric.h"

namespace flotilla {

Model CopyOf(const Model& model) {
  Model copy;
  copy.graph = Graph(std::make_unique<GraphDef>(model.graph.def()));
  const auto in_copy = [&](const Var& var) {
    return var.valid() ? Var(copy.graph.mutable_def(), var.index()) : Var();
  };
  copy.loss = in_copy(model.loss);
  copy.optimizer = model.optimizer;
  copy.metrics = model.metrics;
  copy.watch = model.watch;
  copy.predict = in_copy(model.predict);
  copy.weight = in_copy(model.weight);
  copy.format = model.format;
  return copy;
}

ModelSpec SpecOf(const Model& model, uint64_t seed) {
  ModelSpec spec{.parameters = model.graph.def().parameters,
                 .tables = model.graph.def().tables,
                 .optimizer = model.optimizer,
                 .seed = seed,
                 .without_gradient = {}};
  // A loss that cannot be planned is reported by the trainer.
  if (!model.loss.valid()) return spec;
  const auto plan = Plan::Make(model.graph.def(), {.loss = model.loss.index(), .fetches = {}});
  if (!plan.ok()) return spec;
  const std::span<const int> unused = (*plan)->unused_parameters();
  spec.without_gradient = {unused.begin(), unused.end()};
  return spec;
}

std::vector<MetricSpec> MetricsOf(const Model& model) {
  std::vector<MetricSpec> metrics = model.metrics;
  for (MetricSpec& metric : metrics) {
    if (metric.weight < 0) metric.weight = model.weight.index();
  }
  return metrics;
}

Status CheckWeights(const Model& model) {
  const GraphDef& graph = model.graph.def();
  if (model.weight.valid() && model.weight.graph() != &graph) {
    return InvalidArgument("the model's weight is not a value of its graph");
  }
  std::vector<int> weights = {model.weight.index()};
  for (const MetricSpec& metric : model.metrics) weights.push_back(metric.weight);
  for (const int weight : weights) {
    if (weight < 0) continue;
    if (weight >= static_cast<int>(graph.vars.size())) {
      return InvalidArgument("sample weight is value {}: the graph has {} values", weight,
                             graph.vars.size());
    }
    const VarDef& var = graph.vars[weight];
    if (var.shape == Shape::PerRow({1}) && var.dtype != DType::kIds) continue;
    return InvalidArgument("sample weight {} has shape {}: it must be one number for each row",
                           var.name, var.shape.ToString());
  }
  return absl::OkStatus();
}

StatusOr<WatchedMetric> WatchedMetricOf(const Model& model, std::string watch) {
  if (watch.empty()) watch = model.watch;
  std::vector<std::string> names;
  for (const MetricSpec& spec : model.metrics) {
    names.push_back(spec.name);
    if (!watch.empty() && spec.name != watch) continue;
    FL_ASSIGN_OR_RETURN(const std::unique_ptr<Metric> metric, MakeMetric(spec));
    const MetricDirection direction = metric->direction();
    if (direction != MetricDirection::kNone) {
      return WatchedMetric{spec.name, direction == MetricDirection::kLarger};
    }
    if (!watch.empty()) {
      return InvalidArgument("watch: the metric {} ({}) cannot tell the better of two models",
                             spec.name, spec.kind);
    }
  }
  if (watch.empty()) return WatchedMetric{};
  return InvalidArgument("watch: the model has no metric '{}'; its metrics: {}", watch,
                         fmt::join(names, ", "));
}

}  // namespace flotilla
