#include "flotilla/communicator/gradient_merger.h"

#include <algorithm>

#include "flotilla/base/status.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {

GradientMerger::GradientMerger(const ModelSpec& spec) : tables_(spec.tables.size()) {
  const DenseLayout layout(spec.parameters);
  size_ = layout.size();
  for (const TableSpec& table : spec.tables) dims_.push_back(table.dim);
  // Neighbours of one kind are added in one go, with the gaps between them.
  for (int p = 0; p < layout.parameters(); ++p) {
    const bool statistic = spec.parameters[p].moving_average_keep != 0;
    const int64_t end = p + 1 < layout.parameters() ? layout.offset(p + 1) : layout.size();
    if (runs_.empty() || runs_.back().statistic != statistic) {
      runs_.push_back({.begin = layout.offset(p), .statistic = statistic});
    }
    runs_.back().length = end - runs_.back().begin;
  }
  Start();
}

void GradientMerger::Start() {
  parts_ = 0;
  result_.rows = 0;
  result_.loss = 0;
  result_.dense.resize(static_cast<size_t>(size_));
  result_.sparse.resize(tables_.size());
  for (size_t t = 0; t < tables_.size(); ++t) {
    tables_[t].seen = 0;
    tables_[t].unique.Reset(tables_[t].announced);
    result_.sparse[t].dim = dims_[t];
    result_.sparse[t].ids.clear();
    result_.sparse[t].values.clear();
    result_.sparse[t].locations.clear();
  }
}

void GradientMerger::Add(const Gradients& part, float scale) {
  FL_CHECK(!part.dense_applied);
  FL_CHECK(part.dense.size() == static_cast<size_t>(size_));
  FL_CHECK(part.sparse.size() == tables_.size());
  AddDense(part, scale);
  for (size_t t = 0; t < tables_.size(); ++t) {
    AddSparse(part.sparse[t], scale, &tables_[t], &result_.sparse[t]);
  }
  result_.rows += part.rows;
  result_.loss += part.loss;
  ++parts_;
}

void GradientMerger::AddDense(const Gradients& part, float scale) {
  for (const Run& run : runs_) {
    const float weight = run.statistic ? static_cast<float>(part.rows) : scale;
    const float* from = part.dense.data() + run.begin;
    float* to = result_.dense.data() + run.begin;
    if (parts_ == 0) {
      kernels::Scale(run.length, weight, from, to);
    } else {
      kernels::Axpy(run.length, weight, from, to);
    }
  }
}

void GradientMerger::MakeRoom(size_t occurrences, Table* table) {
  const size_t needed = table->seen + occurrences;
  if (needed <= table->announced) return;
  // The ids found so far, added again in their order, get the same positions.
  const std::vector<uint64_t> before = table->unique.ids();
  table->announced = std::max(needed, 2 * table->announced);
  table->unique.Reset(table->announced);
  table->positions.resize(before.size());
  table->unique.Add(before, table->positions);
}

void GradientMerger::AddSparse(const SparseRows& part, float scale, Table* table, SparseRows* sum) {
  FL_CHECK(part.dim == sum->dim || part.ids.empty());
  const size_t before = sum->ids.size();
  const bool locations =
      part.locations.size() == part.ids.size() && sum->locations.size() == before;
  MakeRoom(part.size(), table);
  table->seen += part.size();
  table->positions.resize(part.size());
  table->unique.Add(part.ids, table->positions);
  const std::vector<uint64_t>& ids = table->unique.ids();
  sum->ids.insert(sum->ids.end(), ids.begin() + static_cast<ptrdiff_t>(before), ids.end());
  sum->values.resize(ids.size() * static_cast<size_t>(sum->dim));
  sum->locations.resize(locations ? ids.size() : 0);
  // New rows start as zeros, from the resize above.
  for (size_t i = 0; i < part.size(); ++i) {
    const size_t position = table->positions[i];
    const float* from = part.row(i);
    float* to = sum->row(position);
    for (int64_t d = 0; d < sum->dim; ++d) to[d] += scale * from[d];
    if (locations) sum->locations[position] = part.locations[i];
  }
}

Gradients& GradientMerger::Result() {
  if (parts_ == 0) std::fill(result_.dense.begin(), result_.dense.end(), 0.0f);
  for (const Run& run : runs_) {
    if (!run.statistic || result_.rows == 0 || parts_ == 0) continue;
    float* values = result_.dense.data() + run.begin;
    kernels::Scale(run.length, 1.0f / static_cast<float>(result_.rows), values, values);
  }
  return result_;
}

}  // namespace flotilla
