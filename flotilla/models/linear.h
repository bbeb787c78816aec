// Logistic (or linear, or softmax) regression: a weight for each id and each number.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> LinearLogits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
