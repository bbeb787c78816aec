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

// The function that makes the model from the flags that it reads. An unknown name is an error that
// suggests the nearest known one.
StatusOr<ModelFunction> FindBuiltinModel(std::string_view name);

// The flags of all built-in models, each once.
std::vector<Config::Flag> BuiltinModelFlags();
// The flags of the other built-in models that model `name` does not read; empty for an unknown
// name.
std::vector<std::string> UnreadModelFlags(std::string_view name);

// Makes the model and runs every check that needs no data. Errors name the flag: an invalid value,
// or a flag that the model does not read.
StatusOr<Model> MakeBuiltinModel(std::string_view name, const Config& config);

}  // namespace flotilla
