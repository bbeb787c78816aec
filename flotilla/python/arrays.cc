#include "flotilla/python/arrays.h"

#include <algorithm>
#include <cstring>

namespace flotilla::python {
namespace {

py::array EnsureArray(const py::handle& object, const std::string& what) {
  py::array array = py::array::ensure(object);
  if (!array) {
    PyErr_Clear();
    Check(InvalidArgument("{}: not an array", what));
  }
  return array;
}

std::string TypeName(const py::array& array) { return py::str(array.dtype()).cast<std::string>(); }

// A copy as one of the types that a loop reads.
template <typename T>
py::array_t<T, py::array::c_style | py::array::forcecast> As(const py::array& array) {
  return py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(array);
}

void FillValues(const py::array& array, const InputSpec& input, Field* field, int64_t* rows) {
  const char kind = array.dtype().kind();
  if (kind != 'f' && kind != 'i' && kind != 'u' && kind != 'b') {
    Check(InvalidArgument("input {}: numbers expected, not an array of {}", input.name,
                          TypeName(array)));
  }
  const bool fits =
      array.ndim() == 1 ? input.width == 1 : array.ndim() == 2 && array.shape(1) == input.width;
  if (!fits) {
    std::string shape = py::str(py::tuple(py::object(array.attr("shape"))));
    Check(InvalidArgument("input {}: shape (rows, {}) expected, not {}", input.name, input.width,
                          shape));
  }
  *rows = array.shape(0);
  const auto values = As<float>(array);
  field->values.assign(values.data(), values.data() + values.size());
}

void FillIds(const py::handle& object, const InputSpec& input, Field* field, int64_t* rows) {
  const std::string what = "input " + input.name;
  if (!py::isinstance<py::tuple>(object)) {
    const py::array array = EnsureArray(object, what);
    if (array.ndim() != 1 && array.ndim() != 2) {
      Check(InvalidArgument("{}: ids of shape (rows,) or (rows, n) expected, not {} axes", what,
                            array.ndim()));
    }
    *rows = array.shape(0);
    field->ids.ids = IdsOf(array, what);
    if (array.ndim() == 2) {
      for (int64_t row = 0; row <= *rows; ++row) {
        field->ids.offsets.push_back(static_cast<uint32_t>(row * array.shape(1)));
      }
    }
    return;
  }
  const py::tuple parts = py::reinterpret_borrow<py::tuple>(object);
  if (parts.size() != 2 && parts.size() != 3) {
    Check(InvalidArgument("{}: (ids, offsets) or (ids, offsets, weights) expected", what));
  }
  field->ids.ids = IdsOf(parts[0], what);
  const std::vector<uint64_t> offsets = IdsOf(parts[1], what + ", offsets");
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != field->ids.ids.size() ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    Check(InvalidArgument(
        "{}: offsets must have rows + 1 entries, ascending from 0 to the number of ids ({})", what,
        field->ids.ids.size()));
  }
  if (offsets.back() > UINT32_MAX) Check(InvalidArgument("{}: more than 2^32 ids", what));
  field->ids.offsets.assign(offsets.begin(), offsets.end());
  *rows = static_cast<int64_t>(offsets.size()) - 1;
  if (parts.size() == 2) return;
  const auto weights = As<float>(EnsureArray(parts[2], what + ", weights"));
  field->ids.weights.assign(weights.data(), weights.data() + weights.size());
}

}  // namespace

std::vector<uint64_t> IdsOf(const py::handle& object, const std::string& what) {
  const py::array array = EnsureArray(object, what);
  const char kind = array.dtype().kind();
  if (array.size() == 0) return {};  // an empty list has the type of numbers
  if (kind == 'u') {
    const auto ids = As<uint64_t>(array);
    return {ids.data(), ids.data() + ids.size()};
  }
  if (kind != 'i') {
    Check(InvalidArgument("{}: whole numbers expected, not an array of {}", what, TypeName(array)));
  }
  const auto ids = As<int64_t>(array);
  const int64_t* const begin = ids.data();
  const int64_t* const end = begin + ids.size();
  const int64_t* const negative = std::find_if(begin, end, [](int64_t id) { return id < 0; });
  if (negative != end) {
    Check(InvalidArgument("{}: {} at position {} is negative", what, *negative, negative - begin));
  }
  return {begin, end};
}

Batch BatchOf(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels) {
  Batch batch{.rows = -1, .fields = std::vector<Field>(inputs.size())};
  std::vector<size_t> absent;
  std::string first;
  for (size_t f = 0; f < inputs.size(); ++f) {
    const InputSpec& input = inputs[f];
    const py::str name(input.name);
    if (!arrays.contains(name)) {
      if (input.kind != InputKind::kLabel || with_labels) {
        Check(InvalidArgument("input {}: there is no array of that name", input.name));
      }
      absent.push_back(f);
      continue;
    }
    int64_t rows = 0;
    if (input.kind == InputKind::kIds) {
      FillIds(arrays[name], input, &batch.fields[f], &rows);
    } else {
      FillValues(EnsureArray(arrays[name], "input " + input.name), input, &batch.fields[f], &rows);
    }
    if (batch.rows >= 0 && rows != batch.rows) {
      Check(InvalidArgument("input {} has {} rows, but {} has {}", input.name, rows, first,
                            batch.rows));
    }
    if (batch.rows < 0) first = input.name;
    batch.rows = rows;
  }
  batch.rows = std::max<int64_t>(batch.rows, 0);
  for (const size_t f : absent) batch.fields[f].values.assign(batch.rows, 0.0f);
  Check(batch.Check(inputs));
  return batch;
}

py::array_t<float> ArrayOf(std::span<const float> values, std::vector<py::ssize_t> shape) {
  py::array_t<float> array(std::move(shape));
  if (!values.empty()) std::memcpy(array.mutable_data(), values.data(), values.size_bytes());
  return array;
}

py::array_t<float> ArrayOf(const Tensor& tensor) {
  return ArrayOf(tensor.data, {tensor.shape.dims.begin(), tensor.shape.dims.end()});
}

}  // namespace flotilla::python
