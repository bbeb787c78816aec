// Everything about a model that is needed to hold and update its parameters: communicators, tables
// and servers are built from it. It knows nothing of the graph.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

struct ModelSpec {
  std::vector<ParameterSpec> parameters;  // in order of declaration: index = identity
  std::vector<TableSpec> tables;          // in order of declaration: index = identity
  OptimizerSpec optimizer;
  uint64_t seed = 0;
  // Indices of the parameters that receive no gradient: a push does not affect them, regardless of
  // the content of their part of the dense block. They keep their value and their optimizer state.
  std::set<int> without_gradient;
};

}  // namespace flotilla
