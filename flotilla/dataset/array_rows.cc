#include "flotilla/dataset/array_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "flotilla/base/scan_number.h"

namespace flotilla {
namespace {

// Rows that are converted together: they fit the L2 cache.
constexpr int64_t kPortionRows = 1024;

// Calls visit with a value of the type of the array.
template <typename Visit>
void WithType(ArrayView::Type type, Visit visit) {
  switch (type) {
    case ArrayView::Type::kInt8:
      return visit(int8_t{});
    case ArrayView::Type::kInt16:
      return visit(int16_t{});
    case ArrayView::Type::kInt32:
      return visit(int32_t{});
    case ArrayView::Type::kInt64:
      return visit(int64_t{});
    case ArrayView::Type::kUint8:
      return visit(uint8_t{});
    case ArrayView::Type::kUint16:
      return visit(uint16_t{});
    case ArrayView::Type::kUint32:
      return visit(uint32_t{});
    case ArrayView::Type::kUint64:
      return visit(uint64_t{});
    case ArrayView::Type::kFloat32:
      return visit(float{});
    case ArrayView::Type::kFloat64:
      return visit(double{});
  }
}

// Consecutive rows of an array, from `begin` on.
struct Range {
  int64_t begin;
  int64_t operator[](int64_t i) const { return begin + i; }
};
// Rows by number.
struct Numbers {
  const uint32_t* numbers;
  int64_t operator[](int64_t i) const { return numbers[i]; }
};

// Reads `count` rows of `width` values to `to`.
template <typename Rows, typename To>
void Read(const ArrayView& view, Rows rows, int64_t count, int64_t width, To* to) {
  const char* const data = static_cast<const char*>(view.data);
  WithType(view.type, [&](auto zero) {
    using From = decltype(zero);
    constexpr bool kSame = std::is_same_v<From, To>;
    const bool row_is_whole = width == 1 || view.column_stride == sizeof(From);
    if constexpr (kSame && std::is_same_v<Rows, Range>) {
      if (row_is_whole && view.row_stride == static_cast<int64_t>(sizeof(From)) * width) {
        if (count == 0) return;
        std::memcpy(to, data + rows[0] * view.row_stride, count * width * sizeof(From));
        return;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      const char* const row = data + rows[i] * view.row_stride;
      for (int64_t c = 0; c < width; ++c) {
        From value;
        std::memcpy(&value, row + c * view.column_stride, sizeof(value));
        *to++ = static_cast<To>(value);
      }
    }
  });
}

// Whether no number of `count` consecutive ones is `wrong`. Looks at all of them, which compilers
// do several at a time.
template <typename From, typename Wrong>
bool NoneIs(Wrong wrong, const char* data, int64_t count) {
  bool found = false;
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, data + i * sizeof(value), sizeof(value));
    found |= wrong(value);
  }
  return !found;
}

// The place, row * columns + column, of the first number that is `wrong`; -1: there is none.
template <typename From, typename Wrong>
int64_t FirstThatIs(Wrong wrong, const ArrayView& view, int64_t rows, int64_t columns) {
  const char* const data = static_cast<const char*>(view.data);
  const bool row_is_whole = (columns == 1 || view.column_stride == sizeof(From)) &&
                            view.row_stride == static_cast<int64_t>(sizeof(From)) * columns;
  if (row_is_whole && NoneIs<From>(wrong, data, rows * columns)) return -1;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      From value;
      std::memcpy(&value, data + i * view.row_stride + c * view.column_stride, sizeof(value));
      if (wrong(value)) return i * columns + c;
    }
  }
  return -1;
}

// The place of the first number that parsers do not accept, and what is wrong with it; -1: all are
// accepted.
std::pair<int64_t, std::string> FirstWrong(const ArrayView& view, int64_t rows, int64_t columns) {
  std::pair<int64_t, std::string> found = {-1, {}};
  WithType(view.type, [&](auto zero) {
    using From = decltype(zero);
    if constexpr (std::is_floating_point_v<From>) {
      const auto wrong = [](From value) {
        float unused;
        return !ToFloat(value, &unused);
      };
      const int64_t at = FirstThatIs<From>(wrong, view, rows, columns);
      if (at < 0) return;
      From value;
      std::memcpy(&value,
                  static_cast<const char*>(view.data) + at / columns * view.row_stride +
                      at % columns * view.column_stride,
                  sizeof(value));
      found = {at, fmt::format("{} is {}", value,
                               std::isfinite(value) ? "too large: its square is not a float32"
                                                    : "not a finite number")};
    }
  });
  return found;
}

template <typename T, typename Vector>
T* Grow(Vector* values, int64_t more) {
  values->resize(values->size() + more);
  return values->data() + values->size() - more;
}

template <typename Rows>
void AppendRagged(const ArrayField& field, Rows rows, int64_t count, RaggedIds* to) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = rows[i];
    const uint32_t begin = field.offsets[row], size = field.offsets[row + 1] - begin;
    if (size > 0) {
      Read(field.values, Range{begin}, size, 1, Grow<uint64_t>(&to->ids, size));
      if (field.weights.data != nullptr) {
        Read(field.weights, Range{begin}, size, 1, Grow<float>(&to->weights, size));
      }
    }
    to->offsets.push_back(static_cast<uint32_t>(to->ids.size()));
  }
}

template <typename Rows>
void AppendField(const ArrayField& field, Rows rows, int64_t count, Field* to) {
  if (!field.is_ids) {
    Read(field.values, rows, count, field.width, Grow<float>(&to->values, count * field.width));
    return;
  }
  RaggedIds& ids = to->ids;
  if ((field.ragged || field.lists) && ids.offsets.empty()) ids.offsets.push_back(0);
  if (field.ragged) {
    AppendRagged(field, rows, count, &ids);
    return;
  }
  const uint64_t before = ids.ids.size();
  Read(field.values, rows, count, field.width, Grow<uint64_t>(&ids.ids, count * field.width));
  if (!field.lists) return;
  for (int64_t i = 1; i <= count; ++i) {
    ids.offsets.push_back(static_cast<uint32_t>(before + i * field.width));
  }
}

template <typename Rows>
void Append(std::span<const ArrayField> fields, Rows rows, int64_t count, Batch* to) {
  for (size_t f = 0; f < fields.size(); ++f) AppendField(fields[f], rows, count, &to->fields[f]);
  to->rows += count;
}

}  // namespace

void ReadInts(const ArrayView& values, int64_t begin, std::span<int64_t> to) {
  Read(values, Range{begin}, static_cast<int64_t>(to.size()), 1, to.data());
}

void ReadNumbers(const ArrayView& values, int64_t begin, std::span<double> to) {
  Read(values, Range{begin}, static_cast<int64_t>(to.size()), 1, to.data());
}

int64_t FirstNegative(const ArrayView& values, int64_t rows, int64_t columns) {
  int64_t found = -1;
  WithType(values.type, [&](auto zero) {
    using From = decltype(zero);
    if constexpr (std::is_signed_v<From>) {
      found = FirstThatIs<From>([](From value) { return value < 0; }, values, rows, columns);
    }
  });
  return found;
}

Status ArrayRows::CheckNumbers(std::span<const InputSpec> inputs) const {
  for (size_t f = 0; f < fields_.size(); ++f) {
    const ArrayField& field = fields_[f];
    const std::string& name = inputs[f].name;
    if (!field.is_ids) {
      const auto [at, what] = FirstWrong(field.values, rows_, field.width);
      if (at >= 0) return InvalidArgument("input {}, row {}: {}", name, at / field.width, what);
    } else if (field.weights.data != nullptr) {
      const auto [at, what] = FirstWrong(field.weights, field.offsets.back(), 1);
      if (at < 0) continue;
      const auto after = std::upper_bound(field.offsets.begin(), field.offsets.end(), at);
      return InvalidArgument("input {}, row {}: weight {}", name, after - field.offsets.begin() - 1,
                             what);
    }
  }
  return absl::OkStatus();
}

void ArrayRows::AppendTo(std::span<const uint32_t> rows, Batch* to) const {
  Append(fields_, Numbers{rows.data()}, static_cast<int64_t>(rows.size()), to);
}

void ArrayRows::AppendTo(int64_t begin, int64_t end, Batch* to) const {
  Append(fields_, Range{begin}, end - begin, to);
}

int64_t ArrayRows::memory_bytes() const {
  int64_t bytes = 0;
  for (const ArrayField& field : fields_) {
    bytes += static_cast<int64_t>(field.offsets.capacity() * sizeof(uint32_t));
  }
  return bytes;
}

RowGenerator ArrayRows::Generate() const {
  return [this, next = int64_t{0}](Batch* rows) mutable -> StatusOr<bool> {
    const int64_t end = std::min(next + kPortionRows, rows_);
    if (next == end) return false;
    AppendTo(next, end, rows);
    next = end;
    return true;
  };
}

}  // namespace flotilla
