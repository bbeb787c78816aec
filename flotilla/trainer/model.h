// What a user hands over: a network, the value to minimise, how to learn, what to watch.
#pragma once

#include <cstdint>
#include <vector>

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
};

// What the parameters need to live. REQUIRES: model.graph.status().ok().
inline ModelSpec SpecOf(const Model& model, uint64_t seed) {
  return {.parameters = model.graph.def().parameters,
          .tables = model.graph.def().tables,
          .optimizer = model.optimizer,
          .seed = seed};
}

}  // namespace flotilla
