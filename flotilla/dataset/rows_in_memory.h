// Interface of the rows of an in-memory dataset, wherever they lie: packed (packed_rows.h) or in
// arrays that others own (array_rows.h).
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/tensor/batch.h"

namespace flotilla {

// Const methods may be called from any number of threads.
class RowsInMemory {
 public:
  virtual ~RowsInMemory() = default;

  virtual int64_t rows() const = 0;
  // Appends the rows with these numbers, in the order of `rows`, to `to`. REQUIRES: `to` has a
  // field per input, and its rows, if any, come from this object; the rows exist.
  virtual void AppendTo(std::span<const uint32_t> rows, Batch* to) const = 0;
  // Memory in use, in bytes, without that of others.
  virtual int64_t memory_bytes() const = 0;
};

}  // namespace flotilla
