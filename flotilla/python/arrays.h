// NumPy arrays as batches, and results as arrays.
#pragma once

#include <pybind11/numpy.h>

#include <span>
#include <vector>

#include "flotilla/python/bindings.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla::python {

// One batch of all rows. `arrays` has an entry for each input, by name:
//
//   numbers, label   (rows, width) or (rows,) of any number type
//   ids              whole numbers (rows,), (rows, n), or a tuple (ids, offsets) or (ids, offsets,
//                    weights) where row i has ids[offsets[i] : offsets[i + 1]]
//
// Labels may be missing if not `with_labels`: they are 0. Other entries are ignored. Copies the
// arrays. Errors name the input.
Batch BatchOf(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels);

py::array_t<float> ArrayOf(const Tensor& tensor);
py::array_t<float> ArrayOf(std::span<const float> values, std::vector<py::ssize_t> shape);
// Of whole numbers that are not negative. `what` is named in errors.
std::vector<uint64_t> IdsOf(const py::handle& array, const std::string& what);

}  // namespace flotilla::python
