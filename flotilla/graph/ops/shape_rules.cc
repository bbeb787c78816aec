#include "flotilla/graph/ops/shape_rules.h"

#include <algorithm>
#include <numeric>

namespace flotilla {

Status CheckValues(const InferContext& context) {
  for (int i = 0; i < context.inputs(); ++i) {
    if (context.in(i).dtype == DType::kIds) {
      return InvalidArgument("input {} is a list of ids, and only an embedding reads ids",
                             context.in(i).name);
    }
    if (context.in(i).shape.rank() > kMaxRank) {
      return InvalidArgument("input {} of shape {} has more than {} dimensions", context.in(i).name,
                             context.in(i).shape.ToString(), kMaxRank);
    }
  }
  return absl::OkStatus();
}

StatusOr<int> NormalizeAxis(int64_t axis, const Shape& shape) {
  const int64_t rank = shape.rank();
  if (axis < -rank || axis >= rank) {
    return InvalidArgument("axis {} is outside shape {}, which has {} dimensions", axis,
                           shape.ToString(), rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

StatusOr<std::vector<int>> NormalizeAxes(std::span<const int64_t> axes, const Shape& shape) {
  std::vector<int> normal;
  for (int64_t axis : axes) {
    FL_ASSIGN_OR_RETURN(const int positive, NormalizeAxis(axis, shape));
    normal.push_back(positive);
  }
  std::sort(normal.begin(), normal.end());
  const auto twice = std::adjacent_find(normal.begin(), normal.end());
  if (twice != normal.end()) {
    return InvalidArgument("axis {} of shape {} is given twice", *twice, shape.ToString());
  }
  if (axes.empty()) {
    normal.resize(shape.rank());
    std::iota(normal.begin(), normal.end(), 0);
  }
  return normal;
}

int64_t ElementsOf(const Shape& shape, int first, int last, int64_t rows) {
  int64_t count = 1;
  for (int axis = first; axis < last; ++axis) count *= DimOf(shape, axis, rows);
  return count;
}

}  // namespace flotilla
