#include "flotilla/graph/table_lookup.h"

#include <algorithm>

namespace flotilla {
namespace {

kernels::Pooling PoolingOf(const NodeDef& node) {
  const std::string& pooling = node.Text("pooling");
  if (pooling == "mean") return kernels::Pooling::kMean;
  if (pooling == "sqrtn") return kernels::Pooling::kSqrtN;
  return kernels::Pooling::kSum;
}

}  // namespace

TableLookup::TableLookup(const GraphDef* graph, const PlannedTable* table)
    : table_(table), dim_(graph->tables[table->table].dim), positions_(table->slots.size()) {
  for (const PlannedSlot& slot : table->slots) {
    pooling_.push_back(PoolingOf(graph->nodes[slot.node]));
  }
  group_positions_.resize(table->slots.size());
}

void TableLookup::Prepare(const BatchSlice& slice, SparseRows* rows) {
  size_t occurrences = 0;
  for (size_t s = 0; s < table_->slots.size(); ++s) {
    const RaggedIds& ids = IdsOf(*slice.batch, static_cast<int>(s));
    occurrences += ids.begin_of(slice.end) - ids.begin_of(slice.begin);
  }
  unique_.Reset(occurrences);
  for (const bool trained : {true, false}) {
    for (size_t s = 0; s < table_->slots.size(); ++s) {
      if (table_->slots[s].trained != trained) continue;
      const RaggedIds& ids = IdsOf(*slice.batch, static_cast<int>(s));
      const uint32_t begin = ids.begin_of(slice.begin);
      const uint32_t count = ids.begin_of(slice.end) - begin;
      if (positions_[s].size() < ids.ids.size()) positions_[s].resize(ids.ids.size());
      unique_.Add(std::span(ids.ids).subspan(begin, count),
                  std::span(positions_[s]).subspan(begin, count));
    }
    if (trained) trained_ids_ = unique_.ids().size();
  }
  rows->dim = dim_;
  rows->ids.assign(unique_.ids().begin(), unique_.ids().end());
  rows->locations.clear();
}

bool TableLookup::OnePerRow(const Batch& batch, const SlotGroup& group) const {
  for (int s = group.first; s < group.first + group.count; ++s) {
    if (!IdsOf(batch, s).one_per_row()) return false;
  }
  return true;
}

void TableLookup::Gather(const Batch& batch, int64_t begin, int64_t end, const SparseRows& rows,
                         const PlaceOf& place) const {
  for (const SlotGroup& group : table_->groups) {
    if (OnePerRow(batch, group)) {
      for (int s = 0; s < group.count; ++s) {
        group_positions_[s] = positions_[group.first + s].data() + begin;
      }
      const StridedRows out = place(table_->slots[group.first].var);
      kernels::GatherSlots(end - begin, group.count, dim_, rows.values.data(),
                           group_positions_.data(), out.data, out.stride);
      continue;
    }
    for (int s = group.first; s < group.first + group.count; ++s) {
      const RaggedIds& ids = IdsOf(batch, s);
      const StridedRows out = place(table_->slots[s].var);
      if (ids.one_per_row()) {
        kernels::GatherRows(end - begin, dim_, rows.values.data(), positions_[s].data() + begin,
                            out.data, out.stride);
      } else {
        kernels::GatherBags(pooling_[s], end - begin, dim_, rows.values.data(),
                            positions_[s].data(), ids.offsets.data() + begin, out.data, out.stride);
      }
    }
  }
}

void TableLookup::Scatter(const Batch& batch, int64_t begin, int64_t end, SparseRows* grads,
                          const PlaceOf& place) const {
  for (const SlotGroup& group : table_->groups) {
    const StridedRows first = place(table_->slots[group.first].var);
    if (first.data == nullptr) continue;
    if (OnePerRow(batch, group)) {
      for (int s = 0; s < group.count; ++s) {
        group_positions_[s] = positions_[group.first + s].data() + begin;
      }
      kernels::ScatterAddSlots(end - begin, group.count, dim_, first.data, first.stride,
                               group_positions_.data(), grads->values.data());
      continue;
    }
    for (int s = group.first; s < group.first + group.count; ++s) {
      const RaggedIds& ids = IdsOf(batch, s);
      const StridedRows out = place(table_->slots[s].var);
      if (ids.one_per_row()) {
        kernels::ScatterAddRows(end - begin, dim_, out.data, out.stride,
                                positions_[s].data() + begin, grads->values.data());
      } else {
        kernels::ScatterAddBags(pooling_[s], end - begin, dim_, out.data, out.stride,
                                positions_[s].data(), ids.offsets.data() + begin,
                                grads->values.data());
      }
    }
  }
}

}  // namespace flotilla
