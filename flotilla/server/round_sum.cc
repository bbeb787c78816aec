#include "flotilla/server/round_sum.h"

#include <algorithm>

#include "flotilla/base/status.h"
#include "flotilla/kernels/vec.h"

namespace flotilla {

size_t RoundPart::memory_bytes() const {
  size_t bytes = dense.size() * sizeof(float);
  for (const SparseRows& table : sparse) {
    bytes += table.ids.size() * sizeof(uint64_t) + table.values.size() * sizeof(float);
  }
  return bytes;
}

RoundSum::RoundSum(std::vector<int64_t> dims, int64_t dense_floats,
                   std::vector<std::pair<int64_t, int64_t>> statistics)
    : statistics_(std::move(statistics)),
      dense_floats_(static_cast<size_t>(dense_floats)),
      tables_(dims.size()) {
  for (const int64_t dim : dims) sum_.sparse.emplace_back().dim = dim;
}

void RoundSum::Start() {
  parts_ = 0;
  sum_.rows = 0;
  sum_.dense.clear();
  for (size_t t = 0; t < tables_.size(); ++t) {
    sum_.sparse[t].ids.clear();
    sum_.sparse[t].values.clear();
    tables_[t].unique.Reset(tables_[t].announced);
    tables_[t].seen = 0;
  }
}

void RoundSum::Add(const RoundPart& part) {
  FL_CHECK(part.sparse.size() == tables_.size());
  for (size_t t = 0; t < tables_.size(); ++t) AddRows(part.sparse[t], &tables_[t], &sum_.sparse[t]);
  if (!part.dense.empty()) AddDense(part);
  sum_.rows += part.rows;
  ++parts_;
}

void RoundSum::AddRows(const SparseRows& rows, Table* table, SparseRows* sum) {
  if (table->seen + rows.size() > table->announced) {
    // The ids found so far, added again in their order, get the same positions.
    const std::vector<uint64_t> before = table->unique.ids();
    table->announced = std::max(table->seen + rows.size(), 2 * table->announced);
    table->unique.Reset(table->announced);
    table->positions.resize(before.size());
    table->unique.Add(before, table->positions);
  }
  table->seen += rows.size();
  table->positions.resize(rows.size());
  table->unique.Add(rows.ids, table->positions);
  const std::vector<uint64_t>& ids = table->unique.ids();
  sum->ids.insert(sum->ids.end(), ids.begin() + static_cast<ptrdiff_t>(sum->ids.size()), ids.end());
  // New rows start as zeros.
  sum->values.resize(ids.size() * static_cast<size_t>(sum->dim));
  for (size_t i = 0; i < rows.size(); ++i) {
    float* to = sum->row(table->positions[i]);
    for (int64_t d = 0; d < sum->dim; ++d) to[d] += rows.row(i)[d];
  }
}

void RoundSum::AddDense(const RoundPart& part) {
  FL_CHECK(part.dense.size() == dense_floats_);
  sum_.dense.resize(dense_floats_);  // zeros at first
  float* sum = sum_.dense.data();
  kernels::Add(static_cast<int64_t>(dense_floats_), sum, part.dense.data(), sum);
  // Statistics are weighted by their examples: they were added once above, so add them rows - 1
  // times more.
  const auto more = static_cast<float>(part.rows - 1);
  for (const auto& [begin, end] : statistics_) {
    kernels::Axpy(end - begin, more, part.dense.data() + begin, sum + begin);
  }
}

const RoundPart& RoundSum::Mean() {
  FL_CHECK(parts_ >= 1);
  const float share = 1.0f / static_cast<float>(parts_);
  for (SparseRows& rows : sum_.sparse) {
    kernels::Scale(static_cast<int64_t>(rows.values.size()), share, rows.values.data(),
                   rows.values.data());
  }
  if (sum_.dense.empty()) return sum_;
  // Statistics and the ranges between them have different divisors.
  const float per_row = sum_.rows > 0 ? 1.0f / static_cast<float>(sum_.rows) : share;
  int64_t at = 0;
  const auto scale_up_to = [&](int64_t end, float by) {
    kernels::Scale(end - at, by, sum_.dense.data() + at, sum_.dense.data() + at);
    at = end;
  };
  for (const auto& [begin, end] : statistics_) {
    scale_up_to(begin, share);
    scale_up_to(end, per_row);
  }
  scale_up_to(static_cast<int64_t>(dense_floats_), share);
  return sum_;
}

}  // namespace flotilla
