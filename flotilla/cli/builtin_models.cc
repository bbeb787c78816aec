#include "flotilla/cli/builtin_models.h"

#include <algorithm>

#include "flotilla/cli/nearest_name.h"
#include "flotilla/models/ctr_dnn.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {
namespace {

// Ids of a table that grows: as many as the parser can give, so that no two values share a row.
constexpr uint64_t kAnyId = (uint64_t{1} << 63) - 1;

struct Entry {
  std::string_view name;
  Model (*make)(const CtrDnnOptions& options);
  bool has_network;  // --recipe, --dim and --layers mean something
};

constexpr Entry kModels[] = {
    {"ctr_dnn", CtrDnn, true},
    {"lr", LogisticRegression, false},
};

StatusOr<Entry> FindModel(std::string_view name) {
  for (const Entry& entry : kModels) {
    if (entry.name == name) return entry;
  }
  return InvalidArgument("unknown model '{}'{}", name, DidYouMean(name, BuiltinModelNames()));
}

Status CheckFlags(const Entry& entry, const ModelFlags& flags) {
  if (entry.has_network) return absl::OkStatus();
  auto useless = [&](const char* flag) {
    return InvalidArgument("{} says nothing to the model {}: leave it out", flag, entry.name);
  };
  if (flags.recipe != "default") return useless("--recipe");
  if (flags.dim) return useless("--dim");
  if (!flags.layers.empty()) return useless("--layers");
  return absl::OkStatus();
}

StatusOr<CtrDnnOptions> OptionsOf(const Entry& entry, const ModelFlags& flags) {
  StatusOr<CtrDnnOptions> options = CtrDnnRecipe(flags.recipe);
  if (!options.ok()) return Annotate(options.status(), "--recipe");
  if (!entry.has_network) options->learning_rate = kLinearRate;
  if (flags.dim) options->dim = *flags.dim;
  if (!flags.layers.empty()) options->layers = flags.layers;
  if (flags.sparse_feature_dim) options->sparse_feature_dim = *flags.sparse_feature_dim;
  if (flags.optimizer) options->optimizer = *flags.optimizer;
  if (flags.learning_rate) options->learning_rate = *flags.learning_rate;
  return options;
}

}  // namespace

std::vector<std::string> BuiltinModelNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kModels) names.emplace_back(entry.name);
  return names;
}

StatusOr<BuiltinModel> MakeBuiltinModel(std::string_view name, const ModelFlags& flags) {
  FL_ASSIGN_OR_RETURN(const Entry entry, FindModel(name));
  FL_RETURN_IF_ERROR(CheckFlags(entry, flags));
  FL_ASSIGN_OR_RETURN(const CtrDnnOptions options, OptionsOf(entry, flags));
  BuiltinModel result{.model = entry.make(options),
                      .hash_dim = options.sparse_feature_dim == 0
                                      ? kAnyId
                                      : static_cast<uint64_t>(options.sparse_feature_dim)};
  FL_RETURN_IF_ERROR(result.model.graph.status());
  FL_RETURN_IF_ERROR(
      Annotate(MakeUpdateRule(result.model.optimizer).status(), "--optimizer, --learning_rate"));
  return result;
}

}  // namespace flotilla
