// Everything about a model that parameters need to live: what a communicator, a table or a server
// is built from. It knows nothing of the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

struct ModelSpec {
  std::vector<ParameterSpec> parameters;  // in order of declaration: index = identity
  std::vector<TableSpec> tables;          // likewise
  OptimizerSpec optimizer;
  uint64_t seed = 0;
};

}  // namespace flotilla
