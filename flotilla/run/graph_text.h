// The text form of a network for the handshake of a job: processes that train another network are
// rejected.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// The graph and its loss, one line per layer, so that the first line that differs names the layer.
// Errors: those of the graph.
StatusOr<std::string> GraphText(const Model& model);

}  // namespace flotilla
