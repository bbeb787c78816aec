// The shape of a value in a graph. A value either has one row per example of the batch (its first
// dimension is kBatch, unknown until a batch arrives) or does not depend on the batch's size
// (a parameter, a loss).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flotilla {

struct Shape {
  static constexpr int64_t kBatch = -1;

  std::vector<int64_t> dims;

  // (batch, dims..)
  static Shape PerRow(std::vector<int64_t> row_dims);

  int rank() const { return static_cast<int>(dims.size()); }
  bool per_row() const { return !dims.empty() && dims[0] == kBatch; }
  // Elements of one row of a per-row shape, or of the whole value otherwise.
  int64_t row_size() const;
  // Elements for a batch of `rows` rows.
  int64_t size(int64_t rows) const { return per_row() ? rows * row_size() : row_size(); }
  // "(batch, 400)"; a scalar is "()".
  std::string ToString() const;

  bool operator==(const Shape&) const = default;
};

}  // namespace flotilla
