#include "flotilla/cli/builtin_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/models/ctr_dnn.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {
namespace {

// The number of ids of a growing table: all that the parser can produce, so that no two values
// share a row.
constexpr uint64_t kAnyId = (uint64_t{1} << 63) - 1;

// Reads the flags that both models have.
void ReadCommon(const Config& config, CtrDnnOptions* options) {
  options->sparse_feature_dim = config.Get(
      "sparse_feature_dim", options->sparse_feature_dim,
      "Number of ids that categories are hashed to (0: no limit, the table grows with every new "
      "category)");
  options->optimizer =
      config.Get("optimizer", options->optimizer, "Update rule, one of " + OptimizerNames());
  options->learning_rate = config.Get("learning_rate", options->learning_rate,
                                      "Constant learning rate of the optimizer");
  if (!(options->learning_rate > 0)) config.Refuse("learning_rate", "a number above 0");
  if (options->sparse_feature_dim < 0) config.Refuse("sparse_feature_dim", "0 or more");
}

Model WithFormat(Model model, const CtrDnnOptions& options) {
  const uint64_t ids =
      options.sparse_feature_dim == 0 ? kAnyId : static_cast<uint64_t>(options.sparse_feature_dim);
  model.format = {.format = "criteo", .params = {{"hash_dim", fmt::to_string(ids)}}};
  return model;
}

StatusOr<Model> MakeCtrDnn(const Config& config) {
  const std::string recipe =
      config.Get("recipe", "default",
                 "Defaults of the other model flags: default, the values measured best; or seeds, "
                 "the exact values of PaddlePaddle's Fleet tutorials");
  StatusOr<CtrDnnOptions> options = CtrDnnRecipe(recipe);
  if (!options.ok()) return Annotate(options.status(), "--recipe");
  options->dim = config.Get("dim", options->dim, "Numbers per row of the table");
  options->layers =
      config.Get("layers", options->layers, "Sizes of the hidden layers, separated by commas");
  if (options->dim < 1) config.Refuse("dim", "1 or more");
  if (std::any_of(options->layers.begin(), options->layers.end(),
                  [](int64_t n) { return n < 1; })) {
    config.Refuse("layers", "sizes of 1 or more");
  }
  ReadCommon(config, &*options);
  return WithFormat(CtrDnn(*options), *options);
}

constexpr BuiltinModel kModels[] = {
    {"ctr_dnn", "The network of PaddlePaddle's tutorials, for Criteo rows", MakeCtrDnn},
};

}  // namespace

std::span<const BuiltinModel> BuiltinModels() { return kModels; }

StatusOr<Model> MakeBuiltinModel(std::string_view name, const Config& config) {
  std::vector<std::string> names;
  for (const BuiltinModel& model : kModels) {
    if (model.name == name) return MakeModel(model.make, config);
    names.emplace_back(model.name);
  }
  return InvalidArgument("unknown model '{}'{}", name, DidYouMean(name, names));
}

}  // namespace flotilla
