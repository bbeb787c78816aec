// Stands for a network in the handshake of a job: processes that train another one are refused.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// The graph and what is minimised, one line for each layer, so that the first line that differs
// tells which. Errors: the graph's own.
StatusOr<std::string> GraphText(const Model& model);

}  // namespace flotilla
