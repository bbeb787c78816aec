// How the manifest tells what a model learned by: OptimizerSpec as JSON and back.
#pragma once

#include <nlohmann/json.hpp>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/json_object.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

// REQUIRES: numbers are finite (AreFinite); JSON has no others.
nlohmann::ordered_json OptimizerToJson(const OptimizerSpec& optimizer);
bool AreFinite(const OptimizerSpec& optimizer);

// The spec; errors go to the status that `json` holds. Whether the names are known is not checked:
// only who trains needs them.
OptimizerSpec OptimizerFromJson(const JsonObject& json);

}  // namespace flotilla
