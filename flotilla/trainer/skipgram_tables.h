// The tables of word vectors within a model. Part of a trainer.
#pragma once

#include <cstdint>

#include "flotilla/base/status.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Names as in PaddlePaddle's tutorials. kBiasTable may be missing: no bias.
inline constexpr char kInputTable[] = "emb";
inline constexpr char kOutputTable[] = "emb_w";
inline constexpr char kBiasTable[] = "emb_b";

// Indices in the spec; -1: there is none.
struct SkipgramTables {
  int input = -1, output = -1, bias = -1;
};

// Errors: tables that are missing, do not fit each other or the size of the vocabulary, or are not
// trained by plain gradient descent at one rate.
StatusOr<SkipgramTables> FindSkipgramTables(const ModelSpec& spec, int64_t words);

}  // namespace flotilla
