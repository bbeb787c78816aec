#include "flotilla/tensor/batch.h"

namespace flotilla {

void Batch::Clear() {
  rows = 0;
  for (Field& field : fields) {
    field.values.clear();
    field.ids.clear();
  }
}

Status Batch::Check(std::span<const InputSpec> inputs) const {
  if (fields.size() != inputs.size()) {
    return InvalidArgument("batch has {} fields, the model reads {} inputs", fields.size(),
                           inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputSpec& input = inputs[i];
    const Field& field = fields[i];
    if (input.kind != InputKind::kIds) {
      if (static_cast<int64_t>(field.values.size()) != rows * input.width) {
        return InvalidArgument("input {}: {} values for {} rows of width {}", input.name,
                               field.values.size(), rows, input.width);
      }
      continue;
    }
    const RaggedIds& ids = field.ids;
    if (!ids.weights.empty() && ids.weights.size() != ids.ids.size()) {
      return InvalidArgument("input {}: {} weights for {} ids", input.name, ids.weights.size(),
                             ids.ids.size());
    }
    if (ids.one_per_row() && static_cast<int64_t>(ids.ids.size()) != rows) {
      return InvalidArgument("input {}: {} ids for {} rows and no offsets", input.name,
                             ids.ids.size(), rows);
    }
    if (!ids.one_per_row() && (static_cast<int64_t>(ids.offsets.size()) != rows + 1 ||
                               ids.offsets.front() != 0 || ids.offsets.back() != ids.ids.size())) {
      return InvalidArgument("input {}: {} offsets ending at {} for {} rows and {} ids", input.name,
                             ids.offsets.size(), ids.offsets.back(), rows, ids.ids.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace flotilla
