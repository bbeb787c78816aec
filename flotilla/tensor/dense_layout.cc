#include "flotilla/tensor/dense_layout.h"

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

}  // namespace flotilla
