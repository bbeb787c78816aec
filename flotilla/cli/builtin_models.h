// The models that `flotilla train` knows by name.
//
// To add one: one entry in the table of builtin_models.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/config.h"

namespace flotilla {

std::vector<std::string> BuiltinModelNames();

// What makes the model, from the flags that it reads. An unknown name is an error with the nearest
// known one.
StatusOr<ModelFunction> FindBuiltinModel(std::string_view name);

// The flags of all built-in models, each once.
std::vector<Config::Flag> BuiltinModelFlags();
// The flags that one of them does not read; none for an unknown name.
std::vector<std::string> UnreadModelFlags(std::string_view name);

// The model, after every check that needs no data. Errors name the flag: a value that makes no
// sense, a flag that the model has no use for.
StatusOr<Model> MakeBuiltinModel(std::string_view name, const Config& config);

}  // namespace flotilla
