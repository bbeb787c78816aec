// Deep and cross network, version 2: layers that multiply their input with the first one, beside or
// below a network. R. Wang et al., "DCN V2: Improved Deep & Cross Network", WWW 2021.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> DcnV2Logits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
