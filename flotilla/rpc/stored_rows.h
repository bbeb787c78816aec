// Rows of a table in the form that a checkpoint stores, for models that are saved and loaded
// through a trainer because servers share no storage.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/rpc/codec_fwd.h"

namespace flotilla {

// An answer ends with the virtual shard that reaches this number of rows, whatever was requested.
inline constexpr uint64_t kMaxStoredRows = uint64_t{1} << 20;

struct StoredRows {
  std::vector<uint64_t> ids;   // distinct
  std::vector<float> weights;  // (ids, dim)
  std::vector<float> state;    // (ids, states, dim), or empty
  std::vector<uint64_t> meta;  // (ids): pushes in the high half, last step in the low; or empty

  static uint64_t Meta(uint32_t pushes, uint32_t last_step) {
    return uint64_t{pushes} << 32 | last_step;
  }
  static uint32_t Pushes(uint64_t meta) { return static_cast<uint32_t>(meta >> 32); }
  static uint32_t LastStep(uint64_t meta) { return static_cast<uint32_t>(meta); }

  void Clear();
};

// Writes them as four tensors of a message.
void AddStoredRows(const StoredRows& rows, TensorWriter* tensors);
// Reads them back. An error if the columns do not fit each other.
Status ReadStoredRows(int64_t dim, TensorReader* tensors, StoredRows* rows);

}  // namespace flotilla
