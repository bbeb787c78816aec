// The part of SparseTable that loads a checkpoint.
#include <cstring>

#include "flotilla/table/sparse_table.h"

namespace flotilla {

Status SparseTable::LoadRows(const RowColumns& rows) {
  FL_RETURN_IF_ERROR(CheckIds(rows.ids));
  const auto dim = static_cast<size_t>(spec_.dim);
  const auto state = static_cast<size_t>(layout().floats()) - dim;
  Hold hold(gate_);
  FL_ASSIGN_OR_RETURN(const std::span<const uint32_t> found, Locate(hold, rows.ids, {}));
  KeepAside(rows.ids, found);
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    std::byte* block = store_->block(found[i]);
    float* weights = WeightsOf(block);
    std::memcpy(weights, rows.weights.data() + i * dim, dim * sizeof(float));
    if (!rows.state.empty()) {
      std::memcpy(weights + dim, rows.state.data() + i * state, state * sizeof(float));
    } else if (rule_ != nullptr) {
      rule_->InitState(spec_.dim, weights + dim);
    }
    if (!spec_.keep_meta) continue;
    const RowMeta meta = rows.meta.empty() ? RowMeta{} : rows.meta[i];
    std::memcpy(block + layout().meta_offset(), &meta, sizeof(meta));
  }
  return absl::OkStatus();
}

void SparseTable::SetSeed(uint64_t seed) { key_ = ParameterKey(seed, spec_.name); }

int64_t SparseTable::CutRows(int shard) const {
  Hold hold(gate_);
  FL_CHECK(cut_ != nullptr);
  return cut_->count(shard);
}

}  // namespace flotilla
