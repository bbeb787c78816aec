// Field-aware factorization machine: each id has a vector for each other feature. Y. Juan et al.,
// "Field-aware Factorization Machines for CTR Prediction", RecSys 2016.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> FfmLogits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
