// The narrow products of gemm.h. B and its gradient are transposed once into one array per column,
// so that the single pass over A works on whole vectors; columns are processed two at a time.
#include <algorithm>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/kernels/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/skinny.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

// Rows handled together: enough chains of additions to hide their latency, and few enough for the
// registers of AVX2.
constexpr int kTile = 4;

// b (k, n) as n columns, `pitch` apart.
HWY_INLINE void Turn(int64_t n, int64_t k, const float* b, float* columns, int64_t pitch) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) columns[j * pitch + i] = b[i * n + j];
  }
}

// c[r, 0 .. kCols) for kRows rows. The order of the sum over k is the same for every tile size, so
// a row's result does not depend on the rows around it.
template <int kRows, int kCols>
HWY_INLINE void ForwardTile(int64_t k, const float* a, int64_t lda, const float* b, int64_t pitch,
                            const float* bias, float* c, int64_t n) {
  FloatVec sums[kRows * kCols];
  for (auto& sum : sums) sum = hn::Zero(FloatTag());
  ForEachVector(k, [&](auto lanes, int64_t i) FL_LANES {
    FloatVec column[kCols];
    for (int j = 0; j < kCols; ++j) column[j] = lanes.Load(b + j * pitch + i);
    for (int r = 0; r < kRows; ++r) {
      const FloatVec x = lanes.Load(a + r * lda + i);
      for (int j = 0; j < kCols; ++j) {
        sums[r * kCols + j] = hn::MulAdd(x, column[j], sums[r * kCols + j]);
      }
    }
  });
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kCols; ++j) {
      const float start = bias == nullptr ? 0.0f : bias[j];
      c[r * n + j] = start + SumLanes(sums[r * kCols + j]);
    }
  }
}

template <int kRows>
HWY_INLINE void ForwardRows(int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                            int64_t pitch, const float* bias, float* c) {
  int64_t j = 0;
  for (; j + 2 <= n; j += 2) {
    ForwardTile<kRows, 2>(k, a, lda, b + j * pitch, pitch, bias ? bias + j : nullptr, c + j, n);
  }
  if (j < n) {
    ForwardTile<kRows, 1>(k, a, lda, b + j * pitch, pitch, bias ? bias + j : nullptr, c + j, n);
  }
}

void SkinnyForward(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                   const float* bias, float* c, float* scratch) {
  const float* columns = b;
  if (n > 1) {
    Turn(n, k, b, scratch, k);
    columns = scratch;
  }
  int64_t r = 0;
  for (; r + kTile <= m; r += kTile) {
    ForwardRows<kTile>(n, k, a + r * lda, lda, columns, k, bias, c + r * n);
  }
  for (; r < m; ++r) ForwardRows<1>(n, k, a + r * lda, lda, columns, k, bias, c + r * n);
}

enum class Write { kNothing, kSet, kAdd };
constexpr int64_t kPrefetchFloats = 64;

// Arguments shared by the tiles of SkinnyBackward.
struct BackwardArgs {
  int64_t n, k, lda, ldda;
  const float* b;  // n columns, k apart
  float* db;       // gradient of b: n columns, k apart
};

// db += A^T dc and da = or += dc B^T, for kRows rows and kCols columns of dc.
template <int kRows, int kCols, Write kWrite>
HWY_INLINE void BackwardTile(const BackwardArgs& args, int64_t j, const float* a, const float* dc,
                             float* da) {
  const int64_t k = args.k, lda = args.lda, ldda = args.ldda;
  const float* b = args.b + j * k;
  float* db = args.db + j * k;
  FloatVec g[kRows * kCols];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) g[r * kCols + c] = SetAll(dc[r * args.n + j + c]);
  }
  ForEachVector(k, [&](auto lanes, int64_t i) FL_LANES {
    FloatVec column[kCols], sum[kCols];
    for (int c = 0; c < kCols; ++c) {
      column[c] = lanes.Load(b + c * k + i);
      sum[c] = lanes.Load(db + c * k + i);
    }
    for (int r = 0; r < kRows; ++r) {
      const FloatVec x = lanes.Load(a + r * lda + i);
      for (int c = 0; c < kCols; ++c) sum[c] = hn::MulAdd(x, g[r * kCols + c], sum[c]);
      if constexpr (kWrite != Write::kNothing) {
        float* to = da + r * ldda + i;
        // These cache lines have not been read yet, so the stores would wait for them one after the
        // other.
        hwy::Prefetch(to + kPrefetchFloats);
        FloatVec dx = hn::Mul(g[r * kCols], column[0]);
        for (int c = 1; c < kCols; ++c) dx = hn::MulAdd(g[r * kCols + c], column[c], dx);
        lanes.Store(kWrite == Write::kAdd ? hn::Add(lanes.Load(to), dx) : dx, to);
      }
    }
    for (int c = 0; c < kCols; ++c) lanes.Store(sum[c], db + c * k + i);
  });
}

template <int kRows, Write kWrite>
HWY_INLINE void BackwardRows(const BackwardArgs& args, const float* a, const float* dc, float* da) {
  constexpr Write kMore = kWrite == Write::kNothing ? Write::kNothing : Write::kAdd;
  if (args.n == 1) return BackwardTile<kRows, 1, kWrite>(args, 0, a, dc, da);
  BackwardTile<kRows, 2, kWrite>(args, 0, a, dc, da);
  int64_t j = 2;
  for (; j + 2 <= args.n; j += 2) BackwardTile<kRows, 2, kMore>(args, j, a, dc, da);
  if (j < args.n) BackwardTile<kRows, 1, kMore>(args, j, a, dc, da);
}

template <Write kWrite>
HWY_INLINE void BackwardAll(int64_t m, const BackwardArgs& args, const float* a, const float* dc,
                            float* da) {
  const auto da_row = [=](int64_t r) { return da == nullptr ? nullptr : da + r * args.ldda; };
  int64_t r = 0;
  for (; r + kTile <= m; r += kTile) {
    BackwardRows<kTile, kWrite>(args, a + r * args.lda, dc + r * args.n, da_row(r));
  }
  for (; r < m; ++r) {
    BackwardRows<1, kWrite>(args, a + r * args.lda, dc + r * args.n, da_row(r));
  }
}

// scratch has 2 n k floats.
void SkinnyBackward(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                    const float* dc, float* db, float* da, int64_t ldda, bool accumulate_da,
                    float* scratch) {
  float* columns = scratch;
  float* sums = scratch + n * k;
  Turn(n, k, b, columns, k);
  std::fill_n(sums, n * k, 0.0f);
  const BackwardArgs args{n, k, lda, ldda, columns, sums};
  if (da == nullptr) {
    BackwardAll<Write::kNothing>(m, args, a, dc, da);
  } else if (accumulate_da) {
    BackwardAll<Write::kAdd>(m, args, a, dc, da);
  } else {
    BackwardAll<Write::kSet>(m, args, a, dc, da);
  }
  if (db == nullptr) return;
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) db[i * n + j] += sums[j * k + i];
  }
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {
namespace {

HWY_EXPORT(SkinnyForward);
HWY_EXPORT(SkinnyBackward);

// Kept between calls: a step calls these functions with the same sizes again and again.
float* Scratch(int64_t size) {
  thread_local AlignedVector<float> scratch;
  if (static_cast<int64_t>(scratch.size()) < size) scratch.resize(size);
  return scratch.data();
}

void AddColumnSums(int64_t m, int64_t n, const float* dc, float* sums) {
  float total[kSkinnyColumns] = {};
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) total[j] += dc[r * n + j];
  }
  for (int64_t j = 0; j < n; ++j) sums[j] += total[j];
}

}  // namespace

void SkinnyForward(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                   const float* bias, float* c) {
  FL_CHECK(n <= kSkinnyColumns);
  if (m == 0 || n == 0) return;
  HWY_DYNAMIC_DISPATCH(SkinnyForward)(m, n, k, a, lda, b, bias, c, Scratch(n * k));
}

void SkinnyBackward(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                    const float* dc, float* db, float* dbias, float* da, int64_t ldda,
                    bool accumulate_da) {
  FL_CHECK(n <= kSkinnyColumns);
  if (m == 0) return;
  if (n == 0) {
    for (int64_t r = 0; r < m && da != nullptr && !accumulate_da; ++r) {
      std::fill_n(da + r * ldda, k, 0.0f);
    }
    return;
  }
  if (dbias != nullptr) AddColumnSums(m, n, dc, dbias);
  HWY_DYNAMIC_DISPATCH(SkinnyBackward)
  (m, n, k, a, lda, b, dc, db, da, ldda, accumulate_da, Scratch(2 * n * k));
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
