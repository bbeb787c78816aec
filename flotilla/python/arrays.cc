#include "flotilla/python/arrays.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace flotilla::python {
namespace {

// Their predictions take well below a second.
constexpr int64_t kPartRows = 1 << 16;

py::array EnsureArray(const py::handle& object, const std::string& what) {
  py::array array = py::array::ensure(object);
  if (!array) {
    PyErr_Clear();
    Check(InvalidArgument("{}: not an array", what));
  }
  return array;
}

std::string TypeName(const py::array& array) { return py::str(array.dtype()).cast<std::string>(); }

bool HasNumbers(const py::array& array) {
  const char kind = array.dtype().kind();
  return kind == 'f' || kind == 'i' || kind == 'u' || kind == 'b';
}

// A copy as one of the types that a loop reads.
template <typename T>
py::array_t<T, py::array::c_style | py::array::forcecast> As(const py::array& array) {
  auto copy = py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(array);
  if (!copy) {
    Check(InvalidArgument("an array of {} cannot be converted to numbers", TypeName(array)));
  }
  return copy;
}

// The type of the array as one that is read in place; none: it has to be converted.
std::optional<ArrayView::Type> TypeOf(const py::array& array) {
  using Type = ArrayView::Type;
  if (array.dtype().byteorder() != '=' && array.dtype().byteorder() != '|') return std::nullopt;
  const auto bytes = array.itemsize();
  switch (array.dtype().kind()) {
    case 'f':
      if (bytes == 4) return Type::kFloat32;
      return bytes == 8 ? std::optional(Type::kFloat64) : std::nullopt;
    case 'b':
      return Type::kUint8;
    case 'i':
      return bytes == 1   ? Type::kInt8
             : bytes == 2 ? Type::kInt16
             : bytes == 4 ? Type::kInt32
                          : Type::kInt64;
    case 'u':
      return bytes == 1   ? Type::kUint8
             : bytes == 2 ? Type::kUint16
             : bytes == 4 ? Type::kUint32
                          : Type::kUint64;
    default:
      return std::nullopt;
  }
}

// The values of an array of one or two axes, which `owners` keeps alive; one that cannot be read in
// place is converted to T.
template <typename T>
ArrayView ViewOf(py::array array, std::vector<py::object>* owners) {
  if (!TypeOf(array)) array = As<T>(array);
  owners->push_back(array);
  ArrayView view{.data = array.data(), .type = *TypeOf(array)};
  view.row_stride = array.strides(0);
  view.column_stride = array.ndim() == 1 ? array.itemsize() : array.strides(1);
  return view;
}

void SetValues(const py::array& array, const InputSpec& input, ArrayField* field,
               std::vector<py::object>* owners, int64_t* rows) {
  if (!HasNumbers(array)) {
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
  field->width = input.width;
  field->values = ViewOf<float>(array, owners);
}

// Ids of one or two axes.
ArrayView IdViewOf(py::array array, const std::string& what, std::vector<py::object>* owners) {
  const char kind = array.dtype().kind();
  if (array.size() == 0) {  // an empty list has the type of numbers
    array = As<int64_t>(array);
  } else if (kind != 'i' && kind != 'u') {
    Check(InvalidArgument("{}: whole numbers expected, not an array of {}", what, TypeName(array)));
  }
  const ArrayView view = ViewOf<int64_t>(array, owners);
  const int64_t columns = array.ndim() == 1 ? 1 : array.shape(1);
  const int64_t negative = FirstNegative(view, array.shape(0), columns);
  if (negative >= 0) {
    const std::string value = py::str(array.attr("flat")[py::int_(negative)]);
    Check(InvalidArgument("{}: {} at position {} is negative", what, value, negative));
  }
  return view;
}

void SetIds(const py::handle& object, const InputSpec& input, ArrayField* field,
            std::vector<py::object>* owners, int64_t* rows) {
  const std::string what = "input " + input.name;
  field->is_ids = true;
  if (!py::isinstance<py::tuple>(object)) {
    const py::array array = EnsureArray(object, what);
    if (array.ndim() != 1 && array.ndim() != 2) {
      Check(InvalidArgument("{}: ids of shape (rows,) or (rows, n) expected, not {} axes", what,
                            array.ndim()));
    }
    *rows = array.shape(0);
    field->values = IdViewOf(array, what, owners);
    // A list of one id is still a list, as other batches may have it.
    if (array.ndim() == 2) field->width = array.shape(1);
    field->lists = array.ndim() == 2;
    return;
  }
  const py::tuple parts = py::reinterpret_borrow<py::tuple>(object);
  if (parts.size() != 2 && parts.size() != 3) {
    Check(InvalidArgument("{}: (ids, offsets) or (ids, offsets, weights) expected", what));
  }
  const py::array ids = EnsureArray(parts[0], what);
  if (ids.ndim() != 1) Check(InvalidArgument("{}: the ids must have one axis", what));
  field->values = IdViewOf(ids, what, owners);
  const std::vector<uint64_t> offsets = IdsOf(parts[1], what + ", offsets");
  const auto count = static_cast<uint64_t>(ids.size());
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != count ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    Check(InvalidArgument(
        "{}: offsets must have rows + 1 entries, ascending from 0 to the number of ids ({})", what,
        count));
  }
  if (count > UINT32_MAX) Check(InvalidArgument("{}: more than 2^32 ids", what));
  field->ragged = true;
  field->offsets.assign(offsets.begin(), offsets.end());
  *rows = static_cast<int64_t>(offsets.size()) - 1;
  if (parts.size() == 2) return;
  const py::array weights = EnsureArray(parts[2], what + ", weights");
  if (weights.ndim() != 1 || static_cast<uint64_t>(weights.size()) != count) {
    Check(InvalidArgument("{}: {} weights for {} ids", what, weights.size(), count));
  }
  if (!HasNumbers(weights)) {
    Check(InvalidArgument("{}, weights: numbers expected, not an array of {}", what,
                          TypeName(weights)));
  }
  field->weights = ViewOf<float>(weights, owners);
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

ArrayView ViewOfArray(const py::array& array, const std::string& what) {
  if (array.ndim() != 1 || !TypeOf(array)) {
    Check(InvalidArgument("{}: an array of another type or shape: {}", what, TypeName(array)));
  }
  std::vector<py::object> owners;
  return ViewOf<double>(array, &owners);
}

Arrays ArraysOf(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels) {
  static constexpr float kNoLabel = 0;
  Arrays result;
  std::vector<ArrayField> fields(inputs.size());
  int64_t all_rows = -1;
  std::string first;
  for (size_t f = 0; f < inputs.size(); ++f) {
    const InputSpec& input = inputs[f];
    const py::str name(input.name);
    if (!arrays.contains(name)) {
      if (input.kind != InputKind::kLabel || with_labels) {
        Check(InvalidArgument("input {}: there is no array of that name", input.name));
      }
      fields[f].values = {.data = &kNoLabel};  // of every row
      continue;
    }
    int64_t rows = 0;
    if (input.kind == InputKind::kIds) {
      SetIds(arrays[name], input, &fields[f], &result.owners, &rows);
    } else {
      const py::array array = EnsureArray(arrays[name], "input " + input.name);
      SetValues(array, input, &fields[f], &result.owners, &rows);
    }
    if (all_rows >= 0 && rows != all_rows) {
      Check(InvalidArgument("input {} has {} rows, but {} has {}", input.name, rows, first,
                            all_rows));
    }
    if (all_rows < 0) first = input.name;
    all_rows = rows;
  }
  result.rows = std::make_shared<ArrayRows>(std::max<int64_t>(all_rows, 0), std::move(fields));
  return result;
}

void FillBatch(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels,
               Batch* batch) {
  const Arrays rows = ArraysOf(inputs, arrays, with_labels);
  batch->fields.resize(inputs.size());
  batch->Clear();
  rows.rows->AppendTo(0, rows.rows->rows(), batch);
  Check(batch->Check(inputs));
}

Batch BatchOf(std::span<const InputSpec> inputs, const py::dict& arrays, bool with_labels) {
  Batch batch;
  FillBatch(inputs, arrays, with_labels, &batch);
  return batch;
}

int64_t ForEachPart(std::span<const InputSpec> inputs, const py::dict& arrays,
                    const std::function<void(const Batch& batch)>& visit) {
  const Arrays rows = ArraysOf(inputs, arrays, /*with_labels=*/false);
  Batch batch{.fields = std::vector<Field>(inputs.size())};
  int64_t begin = 0;
  do {
    RaiseSignals();
    const int64_t end = std::min(begin + kPartRows, rows.rows->rows());
    batch.Clear();
    rows.rows->AppendTo(begin, end, &batch);
    Check(batch.Check(inputs));
    visit(batch);
    begin = end;
  } while (begin < rows.rows->rows());
  return begin;
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
