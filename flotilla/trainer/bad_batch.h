// Batches that must not be trained on: their loss or a gradient is NaN, infinite, or so large that
// its square is. Such a value would spread from a parameter to every row that is computed with it,
// so it is found before the parameters or the servers see it.
//
//   Step::Run        a loss that is not finite
//   train_step.cc    the gradients, before they are pushed or, in place, applied; of a batch that
//                    is computed in parts (joined_round.cc) their sum
//   Part, Round      leave the batch out of the round, if `on_bad_batch` allows it
//
// The checks cost one pass over the gradients, in the worker that has just written them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/input_spec.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// Whether an error of a step means that only its batch is bad. Nothing else has this code.
inline bool IsBadBatch(const Status& status) { return absl::IsOutOfRange(status); }

// Ok, or an error for which IsBadBatch is true that names the parameter or table and the value.
Status CheckDense(const ModelSpec& spec, const DenseLayout& layout, const Gradients& gradients);
Status CheckSparse(const ModelSpec& spec, const Gradients& gradients);
// The error about values [0, length) of a parameter, the first of which has this index there.
// REQUIRES: one of them is bad.
Status BadGradient(const ModelSpec& spec, int parameter, int64_t first,
                   std::span<const float> values);

// Whether the numbers of a batch are of usual size. Only the gradients of others are likely to be
// bad, so these need not be complete before the first of them is applied.
bool HasUsualNumbers(const Batch& batch);

// Explains a bad batch: the cause, where its rows are in the files of the dataset, and the largest
// number in it if that is a likely cause. The dataset may be null.
std::string DescribeBadBatch(const Batch& batch, std::span<const InputSpec> inputs,
                             const Status& cause, const Dataset* dataset);

}  // namespace flotilla
