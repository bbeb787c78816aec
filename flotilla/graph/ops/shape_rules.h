// What the Infer functions of ops share: checks of inputs and axes, each with an error that names
// both shapes. The graph puts the node's name in front of the message.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/graph/op.h"

namespace flotilla {

// No value has more dimensions, so that ops keep their geometry in arrays.
inline constexpr int kMaxRank = 8;

// Error unless every input is a value, not ids, of at most kMaxRank dimensions.
Status CheckValues(const InferContext& context);

// Counts an axis from the end if negative. Error if it is outside [0, rank).
StatusOr<int> NormalizeAxis(int64_t axis, const Shape& shape);

// The given axes, counted from the front, ascending and distinct; all of them if none is given.
StatusOr<std::vector<int>> NormalizeAxes(std::span<const int64_t> axes, const Shape& shape);

// Elements of a value's dimensions [first, last), where the batch's dimension counts `rows`.
int64_t ElementsOf(const Shape& shape, int first, int last, int64_t rows);

// Dimension `axis`, where the batch's dimension counts `rows`.
inline int64_t DimOf(const Shape& shape, int axis, int64_t rows) {
  return shape.dims[axis] == Shape::kBatch ? rows : shape.dims[axis];
}

// The maker of an op whose constructor reads the node.
template <typename T>
std::unique_ptr<Op> MakeFromNode(const NodeDef& node) {
  return std::make_unique<T>(node);
}

}  // namespace flotilla
