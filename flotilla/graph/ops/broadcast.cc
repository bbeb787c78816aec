#include "flotilla/graph/ops/broadcast.h"

namespace flotilla {
namespace {

// Strides of an operand along each dimension of `full`, 0 where the operand is broadcast.
std::array<int64_t, kMaxRank> Strides(std::span<const int64_t> full,
                                      std::span<const int64_t> operand) {
  std::array<int64_t, kMaxRank> strides{};
  int64_t distance = 1;
  const size_t missing = full.size() - operand.size();
  for (size_t d = full.size(); d-- > missing;) {
    const int64_t dim = operand[d - missing];
    strides[d] = dim == 1 ? 0 : distance;
    distance *= dim;
  }
  return strides;
}

}  // namespace

Walk MakeWalk(std::span<const int64_t> full, std::span<const int64_t> a,
              std::span<const int64_t> b) {
  const auto a_strides = Strides(full, a);
  const auto b_strides = Strides(full, b);
  Walk walk;
  int rank = 0;
  for (size_t d = 0; d < full.size(); ++d) {
    if (full[d] == 1) continue;
    // The preceding dimension continues exactly where this one ends: merge them into one.
    const bool merges = rank > 0 && walk.a_strides[rank - 1] == a_strides[d] * full[d] &&
                        walk.b_strides[rank - 1] == b_strides[d] * full[d];
    if (!merges) {
      walk.dims[rank] = 1;
      ++rank;
    }
    walk.dims[rank - 1] *= full[d];
    walk.a_strides[rank - 1] = a_strides[d];
    walk.b_strides[rank - 1] = b_strides[d];
  }
  walk.rank = rank == 0 ? 1 : rank;
  return walk;
}

}  // namespace flotilla
