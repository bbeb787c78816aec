#include "flotilla/tensor/append_row.h"

namespace flotilla {

Status EndRow(std::span<const InputSpec> inputs, Status status, Batch* batch) {
  if (status.ok()) {
    ++batch->rows;
    return status;
  }
  const size_t rows = static_cast<size_t>(batch->rows);
  for (size_t f = 0; f < inputs.size(); ++f) {
    Field& field = batch->fields[f];
    RaggedIds& ids = field.ids;
    if (inputs[f].kind != InputKind::kIds) {
      field.values.resize(rows * static_cast<size_t>(inputs[f].width));
    } else if (ids.one_per_row()) {
      ids.ids.resize(rows);
    } else {
      ids.offsets.resize(rows + 1);
      ids.ids.resize(ids.offsets.back());
      if (rows == 0) ids.offsets.clear();  // as it was before its first row
    }
    if (!ids.weights.empty()) ids.weights.resize(ids.ids.size());
  }
  return status;
}

}  // namespace flotilla
