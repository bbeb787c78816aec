// Everything about a model that parameters need to live: what a communicator, a table or a server
// is built from. It knows nothing of the graph.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

struct ModelSpec {
  std::vector<ParameterSpec> parameters;  // in order of declaration: index = identity
  std::vector<TableSpec> tables;          // likewise
  OptimizerSpec optimizer;
  uint64_t seed = 0;
  // Parameters that no gradient reaches, by index: a push says nothing of them, whatever stands in
  // their place in the dense block. They keep their value and their optimizer state.
  std::set<int> without_gradient;
};

}  // namespace flotilla
