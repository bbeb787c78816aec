#include "flotilla/models/wide_deep.h"

#include "flotilla/models/hidden_layers.h"

namespace flotilla {

StatusOr<Var> WideDeepLogits(const ModelInputs& inputs, const Config& config) {
  const int64_t dim = ReadDim(config, 10);
  const HiddenLayers hidden = HiddenLayers::Read(config, {64, 32});
  const Var x = NetworkInput(inputs, Embed(inputs, inputs.Table("factors", dim, Normal(0, 0.01))));
  return LinearPart(inputs) + Fc(hidden.Apply(x), inputs.outputs(), nullptr, {.use_bias = false});
}

}  // namespace flotilla
