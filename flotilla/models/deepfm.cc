#include "flotilla/models/deepfm.h"

#include <vector>

#include "flotilla/models/fm.h"
#include "flotilla/models/hidden_layers.h"

namespace flotilla {

StatusOr<Var> DeepFmLogits(const ModelInputs& inputs, const Config& config) {
  const int64_t dim = ReadDim(config, 10);
  const HiddenLayers hidden = HiddenLayers::Read(config, {64, 32});
  if (inputs.ids.empty()) {
    return InvalidArgument(
        "deepfm needs categories, and the data has only numbers: use wide_deep, "
        "or give them buckets in the schema");
  }
  // The same rows of the table serve both parts: they are looked up once per batch.
  const EmbeddingOptions table = inputs.Table("factors", dim, Normal(0, 0.01));
  const Var x = NetworkInput(inputs, Embed(inputs, table));
  const Var deep = Fc(hidden.Apply(x), 1, nullptr, {.use_bias = false});
  return LinearPart(inputs) + FmPart(inputs, table) + deep;
}

}  // namespace flotilla
