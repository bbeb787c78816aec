#include "flotilla/cli/builtin_models.h"

#include <fmt/format.h>

#include <algorithm>

#include "flotilla/base/nearest_name.h"
#include "flotilla/models/ctr_dnn.h"

namespace flotilla {
namespace {

// The default learning rate of lr. Its weights start at zero and no network follows them, so it
// needs larger steps than the recipes of ctr_dnn.
constexpr double kLinearRate = 5e-3;

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
      config.Get("optimizer", options->optimizer,
                 "Update rule: sgd, momentum, adagrad, decayed_adagrad, adam, adamax, adamw, "
                 "rmsprop or ftrl");
  options->learning_rate = config.Get("learning_rate", options->learning_rate,
                                      "Constant learning rate of the optimizer (lr: 0.005)");
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

StatusOr<Model> MakeLogisticRegression(const Config& config) {
  CtrDnnOptions options;
  options.learning_rate = kLinearRate;
  ReadCommon(config, &options);
  return WithFormat(LogisticRegression(options), options);
}

struct Entry {
  std::string_view name;
  StatusOr<Model> (*make)(const Config& config);
};

constexpr Entry kModels[] = {
    {"ctr_dnn", MakeCtrDnn},
    {"lr", MakeLogisticRegression},
};

}  // namespace

std::vector<std::string> BuiltinModelNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

StatusOr<ModelFunction> FindBuiltinModel(std::string_view name) {
  for (const Entry& entry : kModels) {
    if (entry.name == name) return ModelFunction(entry.make);
  }
  return InvalidArgument("unknown model '{}'{}", name, DidYouMean(name, BuiltinModelNames()));
}

std::vector<Config::Flag> BuiltinModelFlags() {
  std::vector<Config::Flag> flags;
  for (const Entry& entry : kModels) {
    const Config defaults;
    const StatusOr<Model> model = entry.make(defaults);  // reads every flag
    for (const Config::Flag& flag : defaults.flags()) {
      const bool known = std::any_of(flags.begin(), flags.end(),
                                     [&](const Config::Flag& f) { return f.name == flag.name; });
      if (!known) flags.push_back(flag);
    }
  }
  return flags;
}

std::vector<std::string> UnreadModelFlags(std::string_view name) {
  std::vector<std::string> unread;
  for (const Entry& entry : kModels) {
    if (entry.name != name) continue;
    const Config defaults;
    const StatusOr<Model> model = entry.make(defaults);  // reads every flag
    const std::vector<Config::Flag>& own = defaults.flags();
    for (const Config::Flag& flag : BuiltinModelFlags()) {
      const bool read = std::any_of(own.begin(), own.end(),
                                    [&](const Config::Flag& f) { return f.name == flag.name; });
      if (!read) unread.push_back(flag.name);
    }
  }
  return unread;
}

StatusOr<Model> MakeBuiltinModel(std::string_view name, const Config& config) {
  FL_ASSIGN_OR_RETURN(const ModelFunction function, FindBuiltinModel(name));
  FL_ASSIGN_OR_RETURN(Model model, MakeModel(function, config));
  for (const std::string& flag : config.UnreadFlags()) {
    return InvalidArgument("--{} has no effect on the model {}: leave it out", flag, name);
  }
  return model;
}

}  // namespace flotilla
