// Deep interest network: attention of a target (an item) to the items of a history. G. Zhou et al.,
// "Deep Interest Network for Click-Through Rate Prediction", KDD 2018.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> DinLogits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
