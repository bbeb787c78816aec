// Builds a batch from user arrays, addressed by input name: for feeding a single batch by hand and
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

// Copies its arguments. Keeps the first error and returns it from Build.
class BatchBuilder {
 public:
  explicit BatchBuilder(std::span<const InputSpec> inputs);

  // Numbers of a dense input, (rows, width), or labels, (rows).
  BatchBuilder& Values(std::string_view name, std::span<const float> values);
  // One id per row.
  BatchBuilder& Ids(std::string_view name, std::span<const uint64_t> ids);
  // Any number of ids per row: row i has ids[offsets[i] .. offsets[i + 1]), offsets has rows + 1.
  // `weights` has one per id, or is empty: all are 1.
  BatchBuilder& Ids(std::string_view name, std::span<const uint64_t> ids,
                    std::span<const uint32_t> offsets, std::span<const float> weights = {});

  // Returns the batch; may be called once. InvalidArgument with the name of the input when one is
  // missing, unknown, given twice or of another kind, has another number of rows than the first, or
  // contains a value or weight that is not a number.
  StatusOr<Batch> Build();

 private:
  // The field to fill, null after an error.
  Field* Find(std::string_view name, bool is_ids, int64_t count);

  const std::vector<InputSpec> inputs_;
  std::vector<bool> given_;
  Batch batch_;
  int64_t rows_ = -1;  // -1: unknown yet
  Status error_;
};

}  // namespace flotilla
