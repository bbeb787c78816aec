#include "flotilla/communicator/gradient_merger.h"

#include <algorithm>
#include <atomic>

#include "flotilla/base/status.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {

namespace {

// Elements of the dense block that one thread adds at a time: they stay in its cache from part to
// part.
constexpr int64_t kStretch = 1 << 14;

}  // namespace

GradientMerger::GradientMerger(const ModelSpec& spec) : tables_(spec.tables.size()) {
  const DenseLayout layout(spec.parameters);
  size_ = layout.size();
  for (const TableSpec& table : spec.tables) dims_.push_back(table.dim);
  // Adjacent parameters of the same kind are added together, with the gaps between them.
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
  CheckPart(part);
  AddDense(part, scale, parts_ == 0, 0, size_);
  for (size_t t = 0; t < tables_.size(); ++t) {
    AddSparse(part.sparse[t], scale, &tables_[t], &result_.sparse[t]);
  }
  Count(part);
}

void GradientMerger::Merge(std::span<const Gradients* const> parts, float scale, WorkerPool& pool) {
  Start();
  for (const Gradients* part : parts) CheckPart(*part);
  // Tables first: they take longest, and the ranges of the dense block balance the threads.
  const size_t stretches = static_cast<size_t>((size_ + kStretch - 1) / kStretch);
  std::atomic<size_t> next = 0;
  pool.Run([&](int) {
    for (size_t n = next++; n < tables_.size() + stretches; n = next++) {
      for (const Gradients* part : parts) {
        if (n < tables_.size()) {
          AddSparse(part->sparse[n], scale, &tables_[n], &result_.sparse[n]);
          continue;
        }
        const int64_t begin = static_cast<int64_t>(n - tables_.size()) * kStretch;
        AddDense(*part, scale, part == parts.front(), begin, std::min(begin + kStretch, size_));
      }
    }
  });
  for (const Gradients* part : parts) Count(*part);
}

void GradientMerger::CheckPart(const Gradients& part) const {
  FL_CHECK(!part.dense_applied);
  FL_CHECK(part.dense.size() == static_cast<size_t>(size_));
  FL_CHECK(part.sparse.size() == tables_.size());
}

void GradientMerger::Count(const Gradients& part) {
  result_.rows += part.rows;
  result_.loss += part.loss;
  ++parts_;
}

void GradientMerger::AddDense(const Gradients& part, float scale, bool first, int64_t begin,
                              int64_t end) {
  for (const Run& run : runs_) {
    const int64_t from = std::max(begin, run.begin);
    const int64_t length = std::min(end, run.begin + run.length) - from;
    if (length <= 0) continue;
    const float weight = run.statistic ? static_cast<float>(part.rows) : scale;
    const float* values = part.dense.data() + from;
    float* sum = result_.dense.data() + from;
    if (first) {
      kernels::Scale(length, weight, values, sum);
    } else {
      kernels::Axpy(length, weight, values, sum);
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
