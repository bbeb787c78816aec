#include "flotilla/models/hidden_layers.h"

#include <algorithm>
#include <utility>

#include "flotilla/graph/layers.h"

namespace flotilla {

HiddenLayers HiddenLayers::Read(const Config& config, const std::vector<int64_t>& sizes) {
  HiddenLayers hidden;
  hidden.sizes = config.Get("layers", sizes, "Sizes of the hidden layers, separated by commas");
  hidden.dropout =
      config.Get("dropout", 0.0, "Probability with which training drops a hidden unit");
  if (std::any_of(hidden.sizes.begin(), hidden.sizes.end(), [](int64_t n) { return n < 1; })) {
    config.Refuse("layers", "sizes of 1 or more");
  }
  if (!(hidden.dropout >= 0 && hidden.dropout < 1)) config.Refuse("dropout", "in [0, 1)");
  return hidden;
}

Var HiddenLayers::Apply(Var x) const {
  for (const int64_t size : sizes) {
    x = Fc(x, size, Relu);
    if (dropout > 0) x = Dropout(x, dropout);
  }
  return x;
}

int64_t ReadDim(const Config& config, int64_t otherwise) {
  const int64_t dim = config.Get("dim", otherwise, "Numbers per id");
  if (dim < 1) config.Refuse("dim", "1 or more");
  return std::max<int64_t>(dim, 1);
}

Var NetworkInput(const ModelInputs& inputs, std::vector<Var> vectors) {
  if (inputs.numbers.valid()) vectors.push_back(inputs.numbers);
  if (vectors.empty()) return {};
  return vectors.size() == 1 ? vectors[0] : Concat(vectors);
}

}  // namespace flotilla
