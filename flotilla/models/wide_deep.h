// A network over the vectors of all ids and the numbers, beside a linear part. H.-T. Cheng et al.,
// "Wide & Deep Learning for Recommender Systems", DLRS 2016.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> WideDeepLogits(const ModelInputs& inputs, const Config& config);

}  // namespace flotilla
