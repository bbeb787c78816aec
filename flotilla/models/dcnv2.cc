#include "flotilla/models/dcnv2.h"

#include <string>

#include "flotilla/models/hidden_layers.h"

namespace flotilla {

StatusOr<Var> DcnV2Logits(const ModelInputs& inputs, const Config& config) {
  const int64_t dim = ReadDim(config, 8);
  const int64_t crosses = config.Get("crosses", 2, "Number of cross layers");
  const std::string form = config.Get(
      "form", "parallel", "parallel: crosses beside the hidden layers; stacked: below them");
  const HiddenLayers hidden = HiddenLayers::Read(config, {64, 32});
  if (crosses < 1) config.Refuse("crosses", "1 or more");
  if (form != "parallel" && form != "stacked") config.Refuse("form", "parallel or stacked");
  const Var x0 = NetworkInput(inputs, Embed(inputs, inputs.Table("factors", dim, Normal(0, 0.01))));
  Var crossed = x0;
  for (int64_t i = 0; i < crosses; ++i) crossed = CrossLayer(x0, crossed);
  const Var top = form == "stacked" ? hidden.Apply(crossed) : Concat({crossed, hidden.Apply(x0)});
  return Fc(top, inputs.outputs(), nullptr, {.use_bias = false});
}

}  // namespace flotilla
