// Rows in arrays that others own, one or several per input: the rows of a program that has columns
// (NumPy, a column store). They are converted to batches as they are read; nothing is copied as a
// whole.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flotilla/dataset/generator_dataset.h"
#include "flotilla/dataset/rows_in_memory.h"
#include "flotilla/tensor/batch.h"

namespace flotilla {

// Numbers of one type with any strides; they need not be aligned.
struct ArrayView {
  enum class Type : uint8_t {
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kUint8,
    kUint16,
    kUint32,
    kUint64,
    kFloat32,
    kFloat64,
  };

  const void* data = nullptr;
  Type type = Type::kFloat32;
  int64_t row_stride = 0;     // bytes from one row to the next
  int64_t column_stride = 0;  // bytes from one value of a row to the next
};

// The values of rows [begin, begin + to.size()). REQUIRES: one column; whole numbers for ReadInts,
// where a uint64 keeps its bits.
void ReadInts(const ArrayView& values, int64_t begin, std::span<int64_t> to);
void ReadNumbers(const ArrayView& values, int64_t begin, std::span<double> to);

// The place, row * columns + column, of the first negative number; -1: there is none.
int64_t FirstNegative(const ArrayView& values, int64_t rows, int64_t columns);

// The values of one input. Row i of numbers, labels and ids without offsets is row i of `values`,
// which has `width` columns. With offsets row i has the ids [offsets[i], offsets[i + 1]) of
// `values`, which has one column, and their weights, if there are any.
struct ArrayField {
  bool is_ids = false;
  ArrayView values;
  int64_t width = 1;
  bool lists = false;  // ids without offsets are lists of `width` ids, not one id per row
  bool ragged = false;
  std::vector<uint32_t> offsets;  // if ragged: as RaggedIds::offsets
  ArrayView weights;              // data is null: all weights are 1
};

// REQUIRES: the arrays outlive the object and everything made from it; fields are in the order of
// the inputs and fit them; ids are not negative. Values may change while they are read: a batch
// then has old and new ones.
class ArrayRows : public RowsInMemory {
 public:
  ArrayRows(int64_t rows, std::vector<ArrayField> fields)
      : rows_(rows), fields_(std::move(fields)) {}

  // InvalidArgument with input and row if a number, a label or the weight of an id is none that
  // parsers accept (ToFloat in base/scan_number.h).
  Status CheckNumbers(std::span<const InputSpec> inputs) const;

  int64_t rows() const override { return rows_; }
  void AppendTo(std::span<const uint32_t> rows, Batch* to) const override;
  // The same for rows [begin, end).
  void AppendTo(int64_t begin, int64_t end, Batch* to) const;
  int64_t memory_bytes() const override;

  // All rows in their order, a few thousand at a time. The generator must not outlive the object.
  RowGenerator Generate() const;

 private:
  const int64_t rows_;
  const std::vector<ArrayField> fields_;
};

}  // namespace flotilla
