// Position of each dense parameter in the flat block that a communicator owns and steps read.
// Gradients::dense has the same layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/tensor/parameter_spec.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {

class DenseLayout {
 public:
  DenseLayout() = default;
  // Parameters in order, each starting on a cache line; the gaps hold zeros.
  explicit DenseLayout(std::span<const ParameterSpec> parameters);

  int64_t offset(int parameter) const { return offsets_[parameter]; }
  int64_t length(int parameter) const { return lengths_[parameter]; }
  int parameters() const { return static_cast<int>(offsets_.size()); }
  // Floats in the whole block.
  int64_t size() const { return size_; }

 private:
  std::vector<int64_t> offsets_;
  std::vector<int64_t> lengths_;
  int64_t size_ = 0;
};

// Part of a dense parameter: its elements [begin, begin + length).
struct DenseSlice {
  int parameter = 0;
  int64_t begin = 0;
  int64_t length = 0;

  bool operator==(const DenseSlice&) const = default;
};

// The parts of parameters that a range of the block covers, in order; parameters outside the range
// are omitted.
std::vector<DenseSlice> SlicesOf(const DenseLayout& layout, const DenseRange& range);

}  // namespace flotilla
