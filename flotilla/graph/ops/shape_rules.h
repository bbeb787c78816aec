// Shared by the Infer functions of ops: checks of inputs and axes, each with an error that names
// both shapes. The graph prefixes the message with the node's name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/graph/op.h"

namespace flotilla {

// Maximum number of dimensions of a value, so that ops can store shapes and strides in arrays.
inline constexpr int kMaxRank = 8;

// Error unless every input is a value (not ids) of at most kMaxRank dimensions.
Status CheckValues(const InferContext& context);

// Converts a negative axis, which counts from the end. Error if the result is outside [0, rank).
StatusOr<int> NormalizeAxis(int64_t axis, const Shape& shape);

// The given axes, counted from the front, ascending and distinct; all of them if none is given.
StatusOr<std::vector<int>> NormalizeAxes(std::span<const int64_t> axes, const Shape& shape);

// Number of elements of a value's dimensions [first, last), where the batch dimension counts as
// `rows`.
int64_t ElementsOf(const Shape& shape, int first, int last, int64_t rows);

// Size of dimension `axis`, where the batch dimension counts as `rows`.
inline int64_t DimOf(const Shape& shape, int axis, int64_t rows) {
  return shape.dims[axis] == Shape::kBatch ? rows : shape.dims[axis];
}

// Factory function of an op whose constructor reads the node.
template <typename T>
std::unique_ptr<Op> MakeFromNode(const NodeDef& node) {
  return std::make_unique<T>(node);
}

}  // namespace flotilla
