// Encoding of one block of the binary cache: packed columns of up to kCacheBlockRows rows.
// docs/cache_format.md describes the format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// REQUIRES: the batch fits the inputs.
std::string PackBlock(std::span<const InputSpec> inputs, const Batch& batch);

// The columns of a block, located and checked once. Points into the block's bytes, which must
// outlive the view and be aligned to 8 bytes.
class BlockView {
 public:
  // DataLoss when the bytes are not a block of `rows` rows of these inputs.
  static StatusOr<BlockView> Make(std::span<const InputSpec> inputs, int64_t rows,
                                  std::span<const char> bytes);

  // Appends rows [begin, end) to `batch`. REQUIRES: 0 <= begin <= end <= rows.
  void Append(std::span<const InputSpec> inputs, int64_t begin, int64_t end, Batch* batch) const;

 private:
  struct Column {
    int id_bytes = 0;                   // size of one packed id; 0 for numbers
    const char* data = nullptr;         // numbers or packed ids
    const uint32_t* offsets = nullptr;  // null: one id per row
    const float* weights = nullptr;     // null: all are 1
  };

  std::vector<Column> columns_;
};

}  // namespace flotilla
