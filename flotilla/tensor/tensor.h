// A dense float32 value with its shape, used at the API boundary of the engine: fetched results,
// parameters read or set by name. Inside a step, values live in the plan's buffers instead.
#pragma once

#include <vector>

#include "flotilla/tensor/shape.h"

namespace flotilla {

// Invariant: data.size() == the product of shape.dims; row-major.
struct Tensor {
  Shape shape;
  std::vector<float> data;
};

}  // namespace flotilla
