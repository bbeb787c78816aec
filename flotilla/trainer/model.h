// The model that a user defines: a network, its loss, the optimizer, the metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/graph/graph.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

struct Model {
  Graph graph;
  Var loss;
  OptimizerSpec optimizer;
  std::vector<MetricSpec> metrics;
  // The name of the metric whose test value decides which model of a run is the best and when
  // training stops early. Empty: the first metric for which larger or smaller values are better.
  std::string watch;
  // The prediction, e.g. the probability of a click. Not set: the value that the first metric
  // scores.
  Var predict;
  // The format of its rows, unless a flag overrides it. Without a name: raw Criteo text if the
  // inputs fit that, else MultiSlot text.
  ParserSpec format;
};

// The spec of the model's parameters. Those that the loss does not depend on have no gradient.
// REQUIRES: model.graph.status().ok().
ModelSpec SpecOf(const Model& model, uint64_t seed);

struct WatchedMetric {
  std::string name;  // empty: none
  bool larger_is_better = true;
};

// The metric that Model::watch selects. Errors: the model has no metric of that name, it has no
// direction, or a metric is invalid.
StatusOr<WatchedMetric> WatchedMetricOf(const Model& model);

}  // namespace flotilla
