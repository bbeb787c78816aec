#include "flotilla/models/fwfm.h"

#include "flotilla/models/fm.h"
#include "flotilla/models/hidden_layers.h"

namespace flotilla {

StatusOr<Var> FwfmLogits(const ModelInputs& inputs, const Config& config) {
  const int64_t dim = ReadDim(config, 8);
  const int64_t fields = static_cast<int64_t>(inputs.ids.size());
  if (fields < 2) {
    return InvalidArgument(
        "fwfm weights pairs of features, and the data has {} with categories: use lr or {}", fields,
        fields == 0 ? "wide_deep" : "fm");
  }
  const Var vectors = Concat(Embed(inputs, FmTable(inputs, dim)));
  return LinearPart(inputs) + FwfmInteraction(vectors, fields);
}

}  // namespace flotilla
