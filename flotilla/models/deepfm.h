// A factorization machine and a network that share the vectors of the ids. H. Guo et al., "DeepFM:
// A Factorization-Machine based Neural Network for CTR Prediction", IJCAI 2017.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> DeepFmLogits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
