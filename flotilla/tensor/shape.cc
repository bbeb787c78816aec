#include "flotilla/tensor/shape.h"

namespace flotilla {

Shape Shape::PerRow(std::vector<int64_t> row_dims) {
  row_dims.insert(row_dims.begin(), kBatch);
  return Shape{std::move(row_dims)};
}

int64_t Shape::row_size() const {
  int64_t size = 1;
  for (size_t i = per_row() ? 1 : 0; i < dims.size(); ++i) size *= dims[i];
  return size;
}

std::string Shape::ToString() const {
  std::string text = "(";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += dims[i] == kBatch ? "batch" : std::to_string(dims[i]);
  }
  return text + ")";
}

}  // namespace flotilla
