#include "flotilla/graph/table_lookup.h"

#include <algorithm>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {

TableLookup::Rule TableLookup::RuleOf(const NodeDef& node) {
  if (node.op == "ffm") {
    return {.kind = Rule::Kind::kFfm, .k = node.Int("k"), .normalize = node.Bool("normalize")};
  }
  const std::string& pooling = node.Text("pooling");
  if (pooling == "none") return {.kind = Rule::Kind::kSequence, .width = node.Int("width")};
  if (pooling == "sum_squares") return {.kind = Rule::Kind::kSumSquares};
  if (pooling == "mean") return {.pooling = kernels::Pooling::kMean};
  if (pooling == "sqrtn") return {.pooling = kernels::Pooling::kSqrtN};
  return {};
}

TableLookup::TableLookup(const GraphDef* graph, const PlannedTable* table)
    : table_(table), dim_(graph->tables[table->table].dim), ids_(std::make_shared<DistinctIds>()) {
  ids_->positions.resize(table->slots.size());
  for (const PlannedSlot& slot : table->slots) rules_.push_back(RuleOf(graph->nodes[slot.node]));
  group_positions_.resize(table->slots.size());
}

void TableLookup::ShareIds(const TableLookup& other) {
  const auto same = [&](size_t s) {
    const PlannedSlot& a = table_->slots[s];
    const PlannedSlot& b = other.table_->slots[s];
    const bool sequences =
        rules_[s].kind == Rule::Kind::kSequence || other.rules_[s].kind == Rule::Kind::kSequence;
    return a.input == b.input && a.trained == b.trained && !sequences;
  };
  if (table_->slots.size() != other.table_->slots.size()) return;
  for (size_t s = 0; s < table_->slots.size(); ++s) {
    if (!same(s)) return;
  }
  ids_ = other.ids_;
  shares_ids_ = true;
}

void TableLookup::AddIds(size_t slot, const RaggedIds& ids, int64_t begin, int64_t end) {
  std::vector<uint32_t>& positions = ids_->positions[slot];
  if (positions.size() < ids.ids.size()) positions.resize(ids.ids.size());
  const auto add = [&](uint32_t first, uint32_t count) {
    ids_->unique.Add(std::span(ids.ids).subspan(first, count),
                     std::span(positions).subspan(first, count));
  };
  if (rules_[slot].kind != Rule::Kind::kSequence || ids.one_per_row()) {
    return add(ids.begin_of(begin), ids.begin_of(end) - ids.begin_of(begin));
  }
  for (int64_t r = begin; r < end; ++r) {
    const int64_t count = ids.begin_of(r + 1) - ids.begin_of(r);
    add(ids.begin_of(r), static_cast<uint32_t>(std::min(count, rules_[slot].width)));
  }
}

void TableLookup::Prepare(const BatchSlice& slice, SparseRows* rows) {
  if (!shares_ids_) FindDistinctIds(slice);
  rows->dim = dim_;
  rows->ids.assign(ids_->unique.ids().begin(), ids_->unique.ids().end());
  rows->locations.clear();
}

void TableLookup::FindDistinctIds(const BatchSlice& slice) {
  size_t occurrences = 0;
  for (size_t s = 0; s < table_->slots.size(); ++s) {
    const RaggedIds& ids = IdsOf(*slice.batch, static_cast<int>(s));
    occurrences += ids.begin_of(slice.end) - ids.begin_of(slice.begin);
  }
  ids_->unique.Reset(occurrences);
  for (const bool trained : {true, false}) {
    for (size_t s = 0; s < table_->slots.size(); ++s) {
      if (table_->slots[s].trained != trained) continue;
      AddIds(s, IdsOf(*slice.batch, static_cast<int>(s)), slice.begin, slice.end);
    }
    if (trained) ids_->trained = ids_->unique.ids().size();
  }
}

bool TableLookup::OnePerRow(const Batch& batch, const SlotGroup& group) const {
  for (int s = group.first; s < group.first + group.count; ++s) {
    const RaggedIds& ids = IdsOf(batch, s);
    if (rules_[s].kind != Rule::Kind::kPooled || !ids.one_per_row() || !ids.weights.empty()) {
      return false;
    }
  }
  return true;
}

kernels::Bags TableLookup::BagsOf(const Batch& batch, int slot, int64_t begin) const {
  const RaggedIds& ids = IdsOf(batch, slot);
  // Offsets count occurrences of the whole batch; without them, occurrences are rows.
  const int64_t first = ids.one_per_row() ? begin : 0;
  return {.positions = ids_->positions[slot].data() + first,
          .offsets = ids.one_per_row() ? nullptr : ids.offsets.data() + begin,
          .weights = ids.weights.empty() ? nullptr : ids.weights.data() + first};
}

void TableLookup::Gather(const Batch& batch, int64_t begin, int64_t end, const SparseRows& rows,
                         const PlaceOf& place) const {
  for (const SlotGroup& group : table_->groups) {
    const StridedRows out = place(table_->slots[group.first].var);
    if (OnePerRow(batch, group)) {
      for (int s = 0; s < group.count; ++s) {
        group_positions_[s] = ids_->positions[group.first + s].data() + begin;
      }
      kernels::GatherSlots(end - begin, group.count, dim_, rows.values.data(),
                           group_positions_.data(), out.data, out.stride);
    } else if (rules_[group.first].kind == Rule::Kind::kFfm) {
      GatherFfm(batch, group, begin, end, rows, out);
    } else {
      for (int s = group.first; s < group.first + group.count; ++s) {
        GatherSlot(batch, s, begin, end, rows, place(table_->slots[s].var));
      }
    }
  }
}

void TableLookup::GatherSlot(const Batch& batch, int slot, int64_t begin, int64_t end,
                             const SparseRows& rows, const StridedRows& out) const {
  const Rule& rule = rules_[slot];
  const kernels::Bags bags = BagsOf(batch, slot, begin);
  const float* values = rows.values.data();
  const int64_t count = end - begin;
  if (rule.kind == Rule::Kind::kSequence) {
    kernels::GatherSequences(count, rule.width, dim_, values, bags, out.data, out.stride);
  } else if (rule.kind == Rule::Kind::kSumSquares) {
    kernels::GatherSumSquares(count, dim_, values, bags, out.data, out.stride);
  } else if (bags.weights != nullptr) {
    kernels::GatherWeightedBags(rule.pooling, count, dim_, values, bags, out.data, out.stride);
  } else if (bags.offsets == nullptr) {
    kernels::GatherRows(count, dim_, values, bags.positions, out.data, out.stride);
  } else {
    kernels::GatherBags(rule.pooling, count, dim_, values, bags.positions, bags.offsets, out.data,
                        out.stride);
  }
}

void TableLookup::Scatter(const Batch& batch, int64_t begin, int64_t end, const SparseRows& rows,
                          SparseRows* grads, const PlaceOf& place) const {
  for (const SlotGroup& group : table_->groups) {
    const StridedRows first = place(table_->slots[group.first].var);
    if (first.data == nullptr) continue;
    if (OnePerRow(batch, group)) {
      for (int s = 0; s < group.count; ++s) {
        group_positions_[s] = ids_->positions[group.first + s].data() + begin;
      }
      kernels::ScatterAddSlots(end - begin, group.count, dim_, first.data, first.stride,
                               group_positions_.data(), grads->values.data());
    } else if (rules_[group.first].kind == Rule::Kind::kFfm) {
      ScatterFfm(batch, group, begin, end, rows, grads, first);
    } else {
      for (int s = group.first; s < group.first + group.count; ++s) {
        ScatterSlot(batch, s, begin, end, rows, grads, place(table_->slots[s].var));
      }
    }
  }
}

void TableLookup::ScatterSlot(const Batch& batch, int slot, int64_t begin, int64_t end,
                              const SparseRows& rows, SparseRows* grads,
                              const StridedRows& dout) const {
  const Rule& rule = rules_[slot];
  const kernels::Bags bags = BagsOf(batch, slot, begin);
  float* to = grads->values.data();
  const int64_t count = end - begin;
  if (rule.kind == Rule::Kind::kSequence) {
    kernels::ScatterAddSequences(count, rule.width, dim_, dout.data, dout.stride, bags, to);
  } else if (rule.kind == Rule::Kind::kSumSquares) {
    kernels::ScatterAddSumSquares(count, dim_, rows.values.data(), dout.data, dout.stride, bags,
                                  to);
  } else if (bags.weights != nullptr) {
    kernels::ScatterAddWeightedBags(rule.pooling, count, dim_, dout.data, dout.stride, bags, to);
  } else if (bags.offsets == nullptr) {
    kernels::ScatterAddRows(count, dim_, dout.data, dout.stride, bags.positions, to);
  } else {
    kernels::ScatterAddBags(rule.pooling, count, dim_, dout.data, dout.stride, bags.positions,
                            bags.offsets, to);
  }
}

void TableLookup::PrefetchFeatures(const Batch& batch, const SlotGroup& group, int64_t row,
                                   const SparseRows& rows, const SparseRows* grads) const {
  constexpr int64_t kLine = kCacheLineBytes / sizeof(float);
  for (int s = group.first; s < group.first + group.count; ++s) {
    const RaggedIds& ids = IdsOf(batch, s);
    for (uint32_t o = ids.begin_of(row); o < ids.begin_of(row + 1); ++o) {
      const int64_t at = ids_->positions[s][o] * dim_;
      // Into the L2 cache: the rows that are in use fill the L1 cache.
      for (int64_t i = 0; i < dim_; i += kLine) {
        __builtin_prefetch(rows.values.data() + at + i, 0, 2);
        if (grads != nullptr) __builtin_prefetch(grads->values.data() + at + i, 1, 2);
      }
    }
  }
}

float TableLookup::ListFeatures(const Batch& batch, const SlotGroup& group, int64_t row,
                                const SparseRows& rows, SparseRows* grads) const {
  const Rule& rule = rules_[group.first];
  float squares = 0;
  features_.clear();
  for (int s = group.first; s < group.first + group.count; ++s) {
    const RaggedIds& ids = IdsOf(batch, s);
    for (uint32_t o = ids.begin_of(row); o < ids.begin_of(row + 1); ++o) {
      const int64_t at = ids_->positions[s][o] * dim_;
      const float x = ids.weights.empty() ? 1 : ids.weights[o];
      features_.push_back({.row = rows.values.data() + at,
                           .gradient = grads == nullptr ? nullptr : grads->values.data() + at,
                           .offset = (s - group.first) * rule.k,
                           .x = x});
      squares += x * x;
    }
  }
  if (!rule.normalize) return 1;
  return squares == 0 ? 0 : 1 / squares;
}

void TableLookup::GatherFfm(const Batch& batch, const SlotGroup& group, int64_t begin, int64_t end,
                            const SparseRows& rows, const StridedRows& out) const {
  for (int64_t r = begin; r < end; ++r) {
    if (r + 1 < end) PrefetchFeatures(batch, group, r + 1, rows, nullptr);
    const float factor = ListFeatures(batch, group, r, rows, nullptr);
    out.data[(r - begin) * out.stride] =
        factor * kernels::FfmForward(static_cast<int64_t>(features_.size()), rules_[group.first].k,
                                     features_.data());
  }
}

void TableLookup::ScatterFfm(const Batch& batch, const SlotGroup& group, int64_t begin, int64_t end,
                             const SparseRows& rows, SparseRows* grads,
                             const StridedRows& dout) const {
  for (int64_t r = begin; r < end; ++r) {
    if (r + 1 < end) PrefetchFeatures(batch, group, r + 1, rows, grads);
    const float factor = ListFeatures(batch, group, r, rows, grads);
    kernels::FfmBackward(static_cast<int64_t>(features_.size()), rules_[group.first].k,
                         factor * dout.data[(r - begin) * dout.stride], features_.data());
  }
}

}  // namespace flotilla
