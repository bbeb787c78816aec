// Iterates over all elements of a value together with two smaller values that are broadcast along
// some axes: the loop behind elementwise ops with broadcasting (two operands) and behind reductions
// (a result that does not move along the reduced axes).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "flotilla/graph/ops/shape_rules.h"

namespace flotilla {

// Dimensions of size 1 are dropped and neighbours that move together are merged, so that the
// innermost run is as long as it can be. Invariant: rank >= 1, and in the last dimension each
// operand moves by 0 or 1.
struct Walk {
  int rank = 1;
  std::array<int64_t, kMaxRank> dims{1};
  std::array<int64_t, kMaxRank> a_strides{};
  std::array<int64_t, kMaxRank> b_strides{};

  int64_t run() const { return dims[rank - 1]; }
  bool a_moves() const { return a_strides[rank - 1] != 0; }
  bool b_moves() const { return b_strides[rank - 1] != 0; }
};

// Builds the walk over `full`; the operands a and b are aligned with its last dimensions, and a
// dimension of an operand is 1 or the full one.
// REQUIRES: at most kMaxRank dimensions in `full`, and no more in a and b.
Walk MakeWalk(std::span<const int64_t> full, std::span<const int64_t> a,
              std::span<const int64_t> b);

// Calls f(offset, a_offset, b_offset) for each innermost run, in the order of the elements.
template <typename F>
void ForEachRun(const Walk& walk, F f) {
  const int outer = walk.rank - 1;
  int64_t runs = walk.run() > 0 ? 1 : 0;
  for (int d = 0; d < outer; ++d) runs *= walk.dims[d];
  std::array<int64_t, kMaxRank> index{};
  int64_t a = 0, b = 0;
  for (int64_t i = 0; i < runs; ++i) {
    f(i * walk.run(), a, b);
    for (int d = outer - 1; d >= 0; --d) {
      a += walk.a_strides[d];
      b += walk.b_strides[d];
      if (++index[d] < walk.dims[d]) break;
      a -= walk.a_strides[d] * walk.dims[d];
      b -= walk.b_strides[d] * walk.dims[d];
      index[d] = 0;
    }
  }
}

}  // namespace flotilla
