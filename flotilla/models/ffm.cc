#include "flotilla/models/ffm.h"

#include <vector>

#include "flotilla/graph/layers.h"

namespace flotilla {

StatusOr<Var> FfmLogits(const ModelInputs& inputs, const Config& config) {
  const int64_t k = config.Get("k", 4, "Numbers per id and feature that it is paired with");
  const bool normalize =
      config.Get("normalize", true, "Scale the values of each row to a norm of 1");
  const bool linear = config.Get("linear", false, "Add a linear part");
  if (k < 1) config.Refuse("k", "1 or more");
  if (inputs.ids.size() < 2) {
    return InvalidArgument(
        "ffm has a vector for each pair of features, and the data has {} with "
        "categories: use lr or {}",
        inputs.ids.size(), inputs.ids.empty() ? "wide_deep" : "fm");
  }
  std::vector<Var> fields;
  for (const ModelInputs::Ids& each : inputs.ids) fields.push_back(each.var);
  FfmOptions options{.normalize = normalize};
  options.rows = {
      .table = "factors", .rows = inputs.id_rows, .decay = Decay{.l2 = inputs.embedding_l2}};
  const Var pairs = FfmInteraction(fields, k, options);
  return linear ? LinearPart(inputs) + pairs : pairs;
}

}  // namespace flotilla
