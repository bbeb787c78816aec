#include "flotilla/tensor/dense_layout.h"

#include <algorithm>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {

DenseLayout::DenseLayout(std::span<const ParameterSpec> parameters) {
  constexpr int64_t kAlign = kCacheLineBytes / sizeof(float);
  for (const ParameterSpec& parameter : parameters) {
    offsets_.push_back(size_);
    lengths_.push_back(parameter.size());
    size_ += (parameter.size() + kAlign - 1) / kAlign * kAlign;
  }
}

std::vector<DenseSlice> SlicesOf(const DenseLayout& layout, const DenseRange& range) {
  std::vector<DenseSlice> slices;
  for (int p = 0; p < layout.parameters(); ++p) {
    const int64_t begin = std::max(layout.offset(p), range.begin);
    const int64_t end = std::min(layout.offset(p) + layout.length(p), range.end);
    if (begin >= end) continue;
    slices.push_back({.parameter = p, .begin = begin - layout.offset(p), .length = end - begin});
  }
  return slices;
}

}  // namespace flotilla
