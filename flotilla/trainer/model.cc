#include "flotilla/trainer/model.h"

#include <fmt/ranges.h>

#include <memory>

#include "flotilla/graph/plan.h"
#include "flotilla/metric/metric.h"

namespace flotilla {

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

StatusOr<WatchedMetric> WatchedMetricOf(const Model& model) {
  std::vector<std::string> names;
  for (const MetricSpec& spec : model.metrics) {
    names.push_back(spec.name);
    if (!model.watch.empty() && spec.name != model.watch) continue;
    FL_ASSIGN_OR_RETURN(const std::unique_ptr<Metric> metric, MakeMetric(spec));
    const MetricDirection direction = metric->direction();
    if (direction != MetricDirection::kNone) {
      return WatchedMetric{spec.name, direction == MetricDirection::kLarger};
    }
    if (!model.watch.empty()) {
      return InvalidArgument("watch: the metric {} ({}) cannot tell the better of two models",
                             spec.name, spec.kind);
    }
  }
  if (model.watch.empty()) return WatchedMetric{};
  return InvalidArgument("watch: the model has no metric '{}'; its metrics: {}", model.watch,
                         fmt::join(names, ", "));
}

}  // namespace flotilla
