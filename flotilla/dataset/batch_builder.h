// Makes a batch from a user's arrays, by the names of the inputs: for feeding one batch by hand and
// for generators.
//
//   StatusOr<Batch> batch = BatchBuilder(inputs).Values("dense_input", numbers)
//                                               .Ids("C1", ids).Values("label", labels).Build();
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// Copies what it is given. Keeps the first mistake and tells it in Build.
class BatchBuilder {
 public:
  explicit BatchBuilder(std::span<const InputSpec> inputs);

  // Numbers of a dense input, (rows, width), or labels, (rows).
  BatchBuilder& Values(std::string_view name, std::span<const float> values);
  // One id per row.
  BatchBuilder& Ids(std::string_view name, std::span<const uint64_t> ids);
  // Any number of ids per row: row i has ids[offsets[i] .. offsets[i + 1]), offsets has rows + 1.
  BatchBuilder& Ids(std::string_view name, std::span<const uint64_t> ids,
                    std::span<const uint32_t> offsets);

  // The batch, once. InvalidArgument that names the input when one is missing, unknown, given twice
  // or of another kind, has another number of rows than the first, or a value that is no number.
  StatusOr<Batch> Build();

 private:
  // The field to fill, null after a mistake.
  Field* Find(std::string_view name, bool is_ids, int64_t count);

  const std::vector<InputSpec> inputs_;
  std::vector<bool> given_;
  Batch batch_;
  int64_t rows_ = -1;  // -1: not known yet
  Status error_;
};

}  // namespace flotilla
