// Field-weighted factorization machine: a factorization machine with a trained weight for each pair
// of features. J. Pan et al., "Field-weighted Factorization Machines for Click-Through Rate
// Prediction in Display Advertising", WWW 2018.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> FwfmLogits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
