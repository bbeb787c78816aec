#include "flotilla/models/fm.h"

#include <utility>

#include "flotilla/models/hidden_layers.h"

namespace flotilla {

StatusOr<Var> FmLogits(const ModelInputs& inputs, const Config& config) {
  const int64_t dim = ReadDim(config, 8);
  if (inputs.ids.empty()) {
    return InvalidArgument(
        "fm needs categories, and the data has only numbers: use lr, or give "
        "them buckets in the schema");
  }
  return LinearPart(inputs) + FmPart(inputs, FmTable(inputs, dim));
}

EmbeddingOptions FmTable(const ModelInputs& inputs, int64_t dim) {
  EmbeddingOptions table = inputs.Table("factors", dim, Normal(0, 0.01));
  table.learning_rate_factor = 0.2;
  return table;
}

Var FmPart(const ModelInputs& inputs, EmbeddingOptions table) {
  // With one id in each feature the pairs are those of the features, otherwise those of all ids.
  if (inputs.one_id_each()) {
    return FmInteraction(Concat(Embed(inputs, table)), static_cast<int64_t>(inputs.ids.size()));
  }
  table.pooling = Pooling::kSumSquares;
  Var sums;
  for (const ModelInputs::Ids& each : inputs.ids) {
    const Var rows = Embedding(each.var, table);
    sums = sums.valid() ? sums + rows : rows;
  }
  return FmOfSums(sums);
}

}  // namespace flotilla
