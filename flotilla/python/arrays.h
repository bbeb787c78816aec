// NumPy arrays as batches, and results as arrays.
#pragma once

#include <pybind11/numpy.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/dataset/array_rows.h"
#include "flotilla/python/bindings.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla::python {

// Rows in arrays that Python owns.
struct Arrays {
  std::shared_ptr<const ArrayRows> rows;
  std::vector<py::object> owners;  // keep the arrays alive; to be destroyed with the GIL
};

// `arrays` has an entry for each input, by name:
//
//   numbers, label   (rows, width) or (rows,) of any number type
//   ids              whole numbers (rows,), (rows, n), or a tuple (ids, offsets) or (ids, offsets,
//                    weights) where row i has ids[offsets[i] : offsets[i + 1]]
//
// Labels may be missing if not `with_labels`: they are 0. Other entries are ignored. Arrays of the
// types of ArrayView are not copied, offsets are. Errors name the input.
Arrays ArraysOf(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels);

// The same as one batch of all rows, which are copied; or in the place of another one, whose memory
// is used again.
Batch BatchOf(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels);
void FillBatch(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels,
               Batch* batch);

// Calls visit with batches of the rows, without labels: one, unless there are very many rows. Looks
// for signals before each, so that Ctrl-C ends a long call. Returns the number of rows.
int64_t ForEachPart(std::span<const InputSpec> inputs, const py::dict& arrays,
                    const std::function<void(const Batch& batch)>& visit);

// An array of one axis in place. InvalidArgument, with `what`, if its type is none of ArrayView's.
ArrayView ViewOfArray(const py::array& array, const std::string& what);

py::array_t<float> ArrayOf(const Tensor& tensor);
py::array_t<float> ArrayOf(std::span<const float> values, std::vector<py::ssize_t> shape);
// Of whole numbers that are not negative. `what` is named in errors.
std::vector<uint64_t> IdsOf(const py::handle& array, const std::string& what);

}  // namespace flotilla::python
