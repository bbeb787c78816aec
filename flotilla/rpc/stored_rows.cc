#include "flotilla/rpc/stored_rows.h"

#include <span>

#include "flotilla/rpc/codec.h"

namespace flotilla {

void StoredRows::Clear() {
  ids.clear();
  weights.clear();
  state.clear();
  meta.clear();
}

void AddStoredRows(const StoredRows& rows, TensorWriter* tensors) {
  tensors->AddCopy(std::span<const uint64_t>(rows.ids));
  tensors->AddCopy(std::span<const float>(rows.weights));
  tensors->AddCopy(std::span<const float>(rows.state));
  tensors->AddCopy(std::span<const uint64_t>(rows.meta));
}

Status ReadStoredRows(int64_t dim, TensorReader* tensors, StoredRows* rows) {
  FL_RETURN_IF_ERROR(tensors->ReadAll(&rows->ids));
  FL_RETURN_IF_ERROR(tensors->ReadAll(&rows->weights));
  FL_RETURN_IF_ERROR(tensors->ReadAll(&rows->state));
  FL_RETURN_IF_ERROR(tensors->ReadAll(&rows->meta));
  FL_RETURN_IF_ERROR(tensors->Finish());
  const size_t count = rows->ids.size(), weights = count * static_cast<size_t>(dim);
  const bool whole_states = weights == 0 ? rows->state.empty() : rows->state.size() % weights == 0;
  if (rows->weights.size() == weights && whole_states &&
      (rows->meta.empty() || rows->meta.size() == count)) {
    return absl::OkStatus();
  }
  return InvalidArgument("{} rows of dimension {} with {} weights, {} floats of state, {} meta",
                         count, dim, rows->weights.size(), rows->state.size(), rows->meta.size());
}

}  // namespace flotilla
