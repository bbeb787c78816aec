// The models that `flotilla train` knows by name, and what the command line may say of them.
//
// To add one: one entry in the table of builtin_models.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// What the flags say; what they leave out is the recipe's.
struct ModelFlags {
  std::string recipe = "default";
  std::optional<int64_t> dim;
  std::vector<int64_t> layers;  // empty: not given
  std::optional<int64_t> sparse_feature_dim;
  std::optional<std::string> optimizer;
  std::optional<double> learning_rate;
};

// The learning rate of lr: without a network behind them, weights that start at zero want larger
// steps than the recipes'.
inline constexpr double kLinearRate = 5e-3;

struct BuiltinModel {
  Model model;
  uint64_t hash_dim = 0;  // categories are hashed to ids below it
};

std::vector<std::string> BuiltinModelNames();

// Errors name the flag: an unknown model, recipe or optimizer, a flag that the model has no use
// for.
StatusOr<BuiltinModel> MakeBuiltinModel(std::string_view name, const ModelFlags& flags);

}  // namespace flotilla
