#include <vector>

#include "flotilla/kernels/gemm.h"
#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

class SkinnyTest : public KernelTest {};
FL_INSTANTIATE_FOR_ALL_TARGETS(SkinnyTest);

void CheckForward(int64_t m, int64_t n, int64_t k, int64_t pad, bool with_bias) {
  const int64_t lda = k + pad;
  EdgeBuffer a(Extent(m, k, lda)), b(k * n), bias(n), c(m * n, pad % 2);
  a.Assign(Uniform(RngKey(1).With(k), a.size()));
  b.Assign(Uniform(RngKey(2).With(k), b.size()));
  bias.Assign(Uniform(RngKey(3), n));
  std::vector<float> expected(m * n);
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = with_bias ? bias[j] : 0;
      for (int64_t p = 0; p < k; ++p) sum += static_cast<double>(a[r * lda + p]) * b[p * n + j];
      expected[r * n + j] = static_cast<float>(sum);
    }
  }
  SkinnyForward(m, n, k, a.data(), lda, b.data(), with_bias ? bias.data() : nullptr, c.data());
  EXPECT_TRUE(Near(expected, c, 1e-5, 1e-5)) << "m " << m << " n " << n << " k " << k;
}

TEST_P(SkinnyTest, ForwardEqualsTheNaiveProduct) {
  for (int64_t k : TailSizes()) {
    for (int64_t n : {1, 2}) CheckForward(7, n, k, k % 3, k % 2 == 0);
  }
  for (int64_t n = 0; n <= kSkinnyColumns; ++n) {
    for (int64_t m : {0, 1, 3, 4, 9}) CheckForward(m, n, 37, 2, n % 2 == 0);
  }
  CheckForward(1000, 2, 400, 0, true);
}

TEST_P(SkinnyTest, ForwardOfARowDoesNotDependOnItsNeighbours) {
  const int64_t m = 11, n = 2, k = 403;
  const std::vector<float> a = Uniform(RngKey(1), m * k), b = Uniform(RngKey(2), k * n);
  std::vector<float> all(m * n), one(n);
  SkinnyForward(m, n, k, a.data(), k, b.data(), nullptr, all.data());
  for (int64_t r = 0; r < m; ++r) {
    SkinnyForward(1, n, k, a.data() + r * k, k, b.data(), nullptr, one.data());
    EXPECT_EQ(one[0], all[r * n]);
    EXPECT_EQ(one[1], all[r * n + 1]);
  }
}

struct Shape {
  int64_t m, n, k, pad;  // pad is added to the distances between the rows of A and dA
};
struct Wanted {
  bool db, dbias, da, accumulate;
};

void CheckBackward(const Shape& t, const Wanted& wanted) {
  const auto [m, n, k, pad] = t;
  const int64_t lda = k + pad, ldda = k + 2 * pad;
  EdgeBuffer a(Extent(m, k, lda)), b(k * n), dc(m * n);
  EdgeBuffer db(k * n, 1), dbias(n), da(Extent(m, k, ldda));
  a.Assign(Uniform(RngKey(1).With(k), a.size()));
  b.Assign(Uniform(RngKey(2).With(k), b.size()));
  dc.Assign(Uniform(RngKey(3).With(k), dc.size()));
  db.Assign(Uniform(RngKey(4), db.size()));
  dbias.Assign(Uniform(RngKey(5), n));
  da.Assign(Uniform(RngKey(6), da.size()));
  std::vector<float> want_db = db.ToVector(), want_dbias = dbias.ToVector();
  std::vector<float> want_da = da.ToVector();
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t p = 0; p < k; ++p) {
      float& dx = want_da[r * ldda + p];
      if (wanted.da && !wanted.accumulate) dx = 0;
      for (int64_t j = 0; j < n; ++j) {
        if (wanted.db) want_db[p * n + j] += a[r * lda + p] * dc[r * n + j];
        if (wanted.da) dx += dc[r * n + j] * b[p * n + j];
      }
    }
    for (int64_t j = 0; j < n && wanted.dbias; ++j) want_dbias[j] += dc[r * n + j];
  }
  SkinnyBackward(m, n, k, a.data(), lda, b.data(), dc.data(), wanted.db ? db.data() : nullptr,
                 wanted.dbias ? dbias.data() : nullptr, wanted.da ? da.data() : nullptr, ldda,
                 wanted.accumulate);
  EXPECT_TRUE(Near(want_db, db, 1e-5, 2e-5)) << "m " << m << " n " << n << " k " << k;
  EXPECT_TRUE(Near(want_dbias, dbias, 1e-5, 2e-5)) << "m " << m << " n " << n << " k " << k;
  EXPECT_TRUE(Near(want_da, da, 1e-5, 2e-5)) << "m " << m << " n " << n << " k " << k;
}

TEST_P(SkinnyTest, BackwardEqualsTheNaiveGradients) {
  for (int64_t k : TailSizes()) {
    for (int64_t n : {1, 2}) {
      CheckBackward({.m = 7, .n = n, .k = k, .pad = k % 3}, {true, true, true, k % 2 == 0});
    }
  }
  for (int64_t n = 0; n <= kSkinnyColumns; ++n) {
    for (int64_t m : {0, 1, 3, 4, 9}) {
      for (bool accumulate : {false, true}) {
        if (n > 0)
          CheckBackward({.m = m, .n = n, .k = 37, .pad = 2}, {true, true, true, accumulate});
      }
    }
  }
  CheckBackward({.m = 100, .n = 2, .k = 400, .pad = 0}, {true, true, true, false});
}

TEST_P(SkinnyTest, BackwardLeavesOutWhatIsNull) {
  for (int64_t n : {1, 2, 3}) {
    for (int mask = 0; mask < 8; ++mask) {
      CheckBackward({.m = 6, .n = n, .k = 37, .pad = 1},
                    {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0, false});
    }
  }
}

TEST_P(SkinnyTest, BackwardWithoutColumnsClearsTheInputGradient) {
  CheckBackward({.m = 3, .n = 0, .k = 5, .pad = 1}, {true, true, true, false});
  CheckBackward({.m = 3, .n = 0, .k = 5, .pad = 1}, {true, true, true, true});
}

}  // namespace
}  // namespace flotilla::kernels
