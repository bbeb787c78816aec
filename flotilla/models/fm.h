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

// The table of a model that consists of inner products. They grow with the square of the vectors,
// so vectors learn more slowly than linear weights do.
EmbeddingOptions FmTable(const ModelInputs& inputs, int64_t dim);

// The second-order term alone, (B, 1): of the vectors in `table`. Features with several ids count
// every pair of ids. REQUIRES: there are ids.
Var FmPart(const ModelInputs& inputs, EmbeddingOptions table);

}  // namespace flotilla
