// The models with inputs of their own that `flotilla train` knows by name; models/zoo.h has those
// that take their inputs from the data.
//
// To add one: one entry in the table of builtin_models.cc.
#pragma once

#include <span>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

struct BuiltinModel {
  std::string_view name;
  std::string_view help;
  StatusOr<Model> (*make)(const Config& config);  // reads the model's flags
};

std::span<const BuiltinModel> BuiltinModels();

// Makes a model. An unknown name is an error that suggests the nearest known one; other errors name
// the flag.
StatusOr<Model> MakeBuiltinModel(std::string_view name, const Config& config);

}  // namespace flotilla
