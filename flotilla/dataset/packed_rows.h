// Rows in memory, each in consecutive bytes, so that rows in a random order cost a few cache misses
// each instead of one per input. Datasets keep rows in this form between their source and a batch:
// shuffled windows, generated rows that are in no batch yet, and all rows of an in-memory dataset.
//
// packed_rows.cc is the one place that knows how a row is laid out in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/rows_in_memory.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// A row takes the bytes of its values: 8 per id, 4 if the input has one id per row and all are
// below 2^32, 4 per number or weight, and 4 per id input that may have any number of ids, plus 4 if
// there is one. An input with weights is stored, and returned, as one that may have any number of
// ids. Rows that were added never move. The memory is mapped as rows arrive and returned to the
// operating system by the destructor.
//
// Move-only. Const methods may be called from any number of threads.
class PackedRows final : public RowsInMemory {
 public:
  PackedRows() = default;
  explicit PackedRows(std::span<const InputSpec> inputs);

  // Adds rows [begin, end) of `batch`. ResourceExhausted when there is no memory, or when the rows
  // are too many to be numbered with 32 bits. `key` is for Join. REQUIRES: batch.Check(inputs) is
  // ok; 0 <= begin <= end <= batch.rows.
  Status Add(const Batch& batch, int64_t begin, int64_t end, int64_t key = 0);
  Status Add(const Batch& batch, int64_t key = 0) { return Add(batch, 0, batch.rows, key); }

  int64_t rows() const override { return rows_; }

  // Appends rows [begin, end), or the given rows in the order of `rows`, to `to`. REQUIRES: `to`
  // has a field per input, and its rows, if any, come from this object; the rows exist.
  void AppendTo(int64_t begin, int64_t end, Batch* to) const;
  void AppendTo(std::span<const uint32_t> rows, Batch* to) const override;

  // Removes all rows but keeps the memory.
  void Clear();
  // Memory in use, in bytes.
  int64_t memory_bytes() const override { return static_cast<int64_t>(used_bytes_); }

  // The rows of all parts, which have the same inputs, in the ascending order of the keys with
  // which they were added. Copies no row. Errors are those of Add. REQUIRES: there is a part.
  static StatusOr<PackedRows> Join(std::vector<PackedRows> parts);

 private:
  // The values of an input that has the same number of them in every row.
  struct Column {
    enum class Kind : uint8_t { kIds, kNarrowIds, kNumbers };
    size_t field;
    Kind kind;
    uint32_t offset;  // in the row, in bytes
    uint32_t width;   // number of values
  };
  // Rows that were added together.
  struct Run {
    const std::byte* data;
    const uint32_t* starts;  // of each row in data, in words; null if all rows have equal sizes
    int64_t first;           // number of the first row
    int64_t rows;
    int64_t key;
  };

  // How the values of an input are stored; each form holds all that the ones before it do.
  enum class Form : uint8_t {
    kNarrow,  // numbers, or one id per row, below 2^32
    kFixed,   // one id per row
    kBag,
    kWeighted,
  };

  void SetLayout(std::vector<Form> forms);
  // The first form that holds the values of an input in rows [begin, end) of `batch`.
  Form FormOf(size_t f, const Batch& batch, int64_t begin, int64_t end) const;
  // Gives every input the larger of its form and that in `forms`, in the rows that are there as
  // well.
  Status Widen(const std::vector<Form>& forms);
  StatusOr<std::byte*> Allocate(size_t bytes);
  // Adds a run after the last one. Errors are those of Add.
  Status AddRun(Run run);
  const std::byte* Find(uint32_t row) const;
  void PackFixed(const Batch& batch, int64_t begin, int64_t end, size_t stride,
                 std::byte* data) const;
  void PackBags(const Batch& batch, int64_t begin, int64_t end, uint32_t* starts,
                std::byte* data) const;

  std::vector<InputSpec> inputs_;
  // The layout: fixed columns first, then the bags, each as its number of ids, the ids and the
  // weights, if it has any.
  std::vector<Form> forms_;  // by field
  std::vector<Column> columns_;
  std::vector<size_t> bag_fields_;
  uint32_t fixed_bytes_ = 0;

  std::vector<Run> runs_;
  int64_t rows_ = 0;
  // guide_[i] is the run of row i * kGuideRows.
  std::vector<uint32_t> guide_;
  std::vector<MappedMemory> blocks_;
  size_t block_ = 0, block_used_ = 0;  // where the next run goes
  size_t used_bytes_ = 0;
};

}  // namespace flotilla
