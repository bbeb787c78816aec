// Tiles of C stay in registers over the whole sum. Nothing is packed: a panel of Y with the columns
// of a tile fits into the L1 cache, X is read one float at a time.
#include "flotilla/kernels/weight_gradient.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/weight_gradient.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

// kTileRows x kTileVectors sums, a row of kTileVectors and a broadcast float: 29 of the 32
// registers of AVX-512, 15 of the 16 of AVX2.
constexpr int kTileRows = 6;
constexpr int kTileVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;

// Inline assembly because the compiler would emit a prefetch for reading, as the oldest processors
// require; a line that another core has written would then be requested twice.
HWY_INLINE void PrefetchToWrite(const float* line) {
#if HWY_ARCH_X86
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, /*rw=*/1);
#endif
}

// Iterates over the cache lines of the memory to prefetch, one at a time.
class Lines {
 public:
  explicit Lines(std::span<const std::span<const float>> ranges) : ranges_(ranges) {
    for (const auto& range : ranges_) count_ += LinesOf(range);
  }
  int64_t count() const { return count_; }

  HWY_INLINE void PrefetchNext() {
    while (range_ < ranges_.size() && at_ >= LinesOf(ranges_[range_])) {
      ++range_;
      at_ = 0;
    }
    if (range_ == ranges_.size()) return;
    PrefetchToWrite(ranges_[range_].data() + kFloatsPerLine * at_++);
  }

 private:
  static constexpr int64_t kFloatsPerLine = 16;

  static int64_t LinesOf(std::span<const float> range) {
    return (std::ssize(range) + kFloatsPerLine - 1) / kFloatsPerLine;
  }

  std::span<const std::span<const float>> ranges_;
  int64_t count_ = 0;
  size_t range_ = 0;
  int64_t at_ = 0;
};

struct Product {
  int64_t n, k;
  const float* x;
  int64_t ldx;
  const float* y;
  int64_t ldy;
  bool add;
  float* c;
};

// kRows rows of C from `row` on, kVectors vectors from `column` on; with kVectors = 1 those may be
// the first lanes of a vector. Prefetches `lines` lines, one with every row of the sum.
template <int kRows, int kVectors, class LanesT>
HWY_INLINE void Tile(const Product& p, LanesT lanes, int64_t row, int64_t column, int64_t ahead,
                     Lines& soon) {
  const int64_t width = LaneCount();
  float* c = p.c + row * p.n + column;
  const float* x = p.x + row;
  const float* y = p.y + column;
  FloatVec sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = p.add ? lanes.Load(c + r * p.n + v * width) : hn::Zero(FloatTag());
    }
  }
  const auto add_row = [&](int64_t i) FL_LANES {
    FloatVec vectors[kVectors];
    for (int v = 0; v < kVectors; ++v) vectors[v] = lanes.Load(y + i * p.ldy + v * width);
    for (int r = 0; r < kRows; ++r) {
      const FloatVec factor = SetAll(x[i * p.ldx + r]);
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(factor, vectors[v], sums[r][v]);
      }
    }
  };
  int64_t i = 0;
  for (; i < std::min(ahead, p.k); ++i) {
    soon.PrefetchNext();
    add_row(i);
  }
  for (; i < p.k; ++i) add_row(i);
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) lanes.Store(sums[r][v], c + r * p.n + v * width);
  }
}

// All rows of the columns of one panel.
template <int kVectors, class LanesT>
HWY_INLINE void Panel(const Product& p, LanesT lanes, int64_t m, int64_t column, int64_t ahead,
                      Lines& soon) {
  int64_t row = 0;
  for (; row + kTileRows <= m; row += kTileRows) {
    Tile<kTileRows, kVectors>(p, lanes, row, column, ahead, soon);
  }
  switch (m - row) {
    case 5:
      return Tile<5, kVectors>(p, lanes, row, column, ahead, soon);
    case 4:
      return Tile<4, kVectors>(p, lanes, row, column, ahead, soon);
    case 3:
      return Tile<3, kVectors>(p, lanes, row, column, ahead, soon);
    case 2:
      return Tile<2, kVectors>(p, lanes, row, column, ahead, soon);
    case 1:
      return Tile<1, kVectors>(p, lanes, row, column, ahead, soon);
    default:
      return;
  }
}

void WeightGradient(int64_t m, int64_t n, int64_t k, const float* x, int64_t ldx, const float* y,
                    int64_t ldy, float beta, float* c,
                    std::span<const std::span<const float>> soon) {
  const Product p{.n = n, .k = k, .x = x, .ldx = ldx, .y = y, .ldy = ldy, .add = beta != 0, .c = c};
  const int64_t width = LaneCount();
  const int64_t vectors = n / width;
  const int64_t panels = (vectors + kTileVectors - 1) / kTileVectors;
  Lines lines(soon);
  const int64_t tiles = std::max<int64_t>((m + kTileRows - 1) / kTileRows * panels, 1);
  const int64_t ahead = (lines.count() + tiles - 1) / tiles;
  int64_t done = 0;
  for (int64_t panel = 0; panel < panels; ++panel) {
    // Tiles are as even as possible: a narrow tile cannot keep the multipliers busy.
    const int64_t upto = vectors * (panel + 1) / panels;
    const int64_t column = done * width;
    const int64_t count = upto - done;
    done = upto;
    if (count == 1) Panel<1>(p, FullLanes(), m, column, ahead, lines);
    if (count == 2) Panel<2>(p, FullLanes(), m, column, ahead, lines);
    if constexpr (kTileVectors > 2) {
      if (count == 3) Panel<3>(p, FullLanes(), m, column, ahead, lines);
      if (count == 4) Panel<4>(p, FullLanes(), m, column, ahead, lines);
    }
  }
  const int64_t rest = n - vectors * width;
  if (rest > 0) Panel<1>(p, FirstLanes{rest}, m, vectors * width, ahead, lines);
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(WeightGradient);

void WeightGradient(int64_t m, int64_t n, int64_t k, const float* x, int64_t ldx, const float* y,
                    int64_t ldy, float beta, float* c,
                    std::span<const std::span<const float>> soon) {
  HWY_DYNAMIC_DISPATCH(WeightGradient)(m, n, k, x, ldx, y, ldy, beta, c, soon);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
