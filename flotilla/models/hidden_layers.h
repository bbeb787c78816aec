// The hidden layers that the networks of the zoo share, and their flags.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

struct HiddenLayers {
  std::vector<int64_t> sizes;
  double dropout = 0;  // of the output of each layer

  // Reads --layers and --dropout.
  static HiddenLayers Read(const Config& config, const std::vector<int64_t>& sizes);

  // x after all layers, with ReLU.
  Var Apply(Var x) const;
};

// Reads --dim, the numbers per row of the table `factors`.
int64_t ReadDim(const Config& config, int64_t otherwise);

// What a network begins with: the vectors of all ids and the numbers of a row, side by side.
// `vectors` may be empty. Not valid if there are neither.
Var NetworkInput(const ModelInputs& inputs, std::vector<Var> vectors);

}  // namespace flotilla
