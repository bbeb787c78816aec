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
  // The sample weights of the rows, (B, 1). Not set: every row has weight 1. The loss is then the
  // WeightedSum or the WeightedMean of the losses of the rows. The reported loss per row is divided
  // by the sum of the weights, and metrics without a weight of their own count rows by this one.
  Var weight;
  // The format of its rows, unless a flag overrides it. Without a name: raw Criteo text if the
  // inputs fit that, else MultiSlot text.
  ParserSpec format;
};

// A model of its own with the same network.
Model CopyOf(const Model& model);

// The spec of the model's parameters. Those that the loss does not depend on have no gradient.
// REQUIRES: model.graph.status().ok().
ModelSpec SpecOf(const Model& model, uint64_t seed);

// The model's metrics, with its sample weight.
std::vector<MetricSpec> MetricsOf(const Model& model);

// Ok if the sample weight and the metrics' weights have a number for each row of the graph.
Status CheckWeights(const Model& model);

struct WatchedMetric {
  std::string name;  // empty: none
  bool larger_is_better = true;
};

// The metric named `watch`; if that is empty, the one that Model::watch selects. Errors: the model
// has no metric of that name, it has no direction, or a metric is invalid.
StatusOr<WatchedMetric> WatchedMetricOf(const Model& model, std::string watch = {});

}  // namespace flotilla
