// What a user hands over: a network, the value to minimise, how to learn, what to watch.
#pragma once

#include <cstdint>
#include <vector>

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
  // What inference gives, e.g. the probability of a click. Not set: what the first metric scores.
  Var predict;
  // How its rows are written, unless a flag says otherwise. Without a name: raw Criteo text if the
  // inputs fit that, else MultiSlot text.
  ParserSpec format;
};

// What the parameters need to live. Those that the loss does not depend on have no gradient.
// REQUIRES: model.graph.status().ok().
ModelSpec SpecOf(const Model& model, uint64_t seed);

}  // namespace flotilla
