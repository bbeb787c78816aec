// Stands for a network in the handshake of a job: processes that train another one are refused.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// A hash of the graph and of what is minimised, as text. Errors: the graph's own.
StatusOr<std::string> GraphHash(const Model& model);

}  // namespace flotilla
