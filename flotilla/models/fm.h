// Factorization machine: a linear part and the inner products of all pairs of ids. S. Rendle,
// "Factorization Machines", ICDM 2010.
#pragma once

#include <cstdint>

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/models/model_inputs.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// The logits of ZooModel (zoo.h).
StatusOr<Var> FmLogits(const ModelInputs& inputs, const Config& config);

// The second-order term alone, (B, 1): of the table `factors` with `dim` numbers per id. Features
// with several ids count every pair of ids. REQUIRES: there are ids.
Var FmPart(const ModelInputs& inputs, int64_t dim);

}  // namespace flotilla
