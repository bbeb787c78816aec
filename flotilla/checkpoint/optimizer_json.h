// The optimizer in the manifest: converts OptimizerSpec to JSON and back.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "flotilla/base/json_value.h"
#include "flotilla/base/status.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

// REQUIRES: numbers are finite (AreFinite), as required by JSON.
nlohmann::ordered_json OptimizerToJson(const OptimizerSpec& optimizer);
bool AreFinite(const OptimizerSpec& optimizer);

// Reads the spec; errors are recorded in the status of `json`. Does not check whether the names are
// known: only training needs them.
OptimizerSpec OptimizerFromJson(const JsonValue& json);

}  // namespace flotilla
