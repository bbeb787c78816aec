#include "flotilla/kernels/gemm.h"

#include <limits>
#include <thread>
#include <vector>

#include "flotilla/kernels/kernel_test.h"

namespace flotilla::kernels {
namespace {

struct Case {
  Transpose ta, tb;
  int64_t m, n, k;
  int64_t pad;  // added to every leading dimension
  float beta;
};

// C of a naive product in double, on the whole buffer with its padding.
std::vector<float> NaiveGemm(const Case& t, const EdgeBuffer& a, int64_t lda, const EdgeBuffer& b,
                             int64_t ldb, std::vector<float> c, int64_t ldc) {
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      double sum = t.beta == 0 ? 0.0 : c[i * ldc + j];
      for (int64_t p = 0; p < t.k; ++p) {
        const double x = t.ta == Transpose::kYes ? a[p * lda + i] : a[i * lda + p];
        const double y = t.tb == Transpose::kYes ? b[j * ldb + p] : b[p * ldb + j];
        sum += x * y;
      }
      c[i * ldc + j] = static_cast<float>(sum);
    }
  }
  return c;
}

void CheckGemm(const Case& t) {
  const int64_t a_rows = t.ta == Transpose::kYes ? t.k : t.m;
  const int64_t a_columns = t.ta == Transpose::kYes ? t.m : t.k;
  const int64_t b_rows = t.tb == Transpose::kYes ? t.n : t.k;
  const int64_t b_columns = t.tb == Transpose::kYes ? t.k : t.n;
  const int64_t lda = a_columns + t.pad, ldb = b_columns + t.pad, ldc = t.n + t.pad;
  EdgeBuffer a(Extent(a_rows, a_columns, lda)), b(Extent(b_rows, b_columns, ldb));
  EdgeBuffer c(Extent(t.m, t.n, ldc), 1);
  a.Assign(Uniform(RngKey(1).With("a"), a.size()));
  b.Assign(Uniform(RngKey(1).With("b"), b.size()));
  std::vector<float> before = Uniform(RngKey(1).With("c"), c.size());
  if (t.beta == 0) before.assign(before.size(), std::numeric_limits<float>::quiet_NaN());
  c.Assign(before);
  Gemm(t.ta, t.tb, t.m, t.n, t.k, a.data(), lda, b.data(), ldb, t.beta, c.data(), ldc);
  EXPECT_TRUE(Near(NaiveGemm(t, a, lda, b, ldb, before, ldc), c, 1e-5, 1e-5))
      << "m " << t.m << " n " << t.n << " k " << t.k << " pad " << t.pad << " beta " << t.beta;
}

TEST(GemmTest, EqualsTheNaiveProductForAllTransposesAndStrides) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 7, 5},    {5, 1, 9},     {3, 4, 1},
                              {17, 33, 65}, {48, 64, 32}, {100, 31, 27}, {13, 400, 10}};
  for (const auto& [m, n, k] : sizes) {
    for (Transpose ta : {Transpose::kNo, Transpose::kYes}) {
      for (Transpose tb : {Transpose::kNo, Transpose::kYes}) {
        for (int64_t pad : {0, 3}) {
          for (float beta : {0.0f, 1.0f}) CheckGemm({ta, tb, m, n, k, pad, beta});
        }
      }
    }
  }
}

TEST(GemmTest, ZeroSizesLeaveOrClearTheResult) {
  for (float beta : {0.0f, 1.0f}) {
    CheckGemm({Transpose::kNo, Transpose::kNo, 0, 3, 4, 1, beta});
    CheckGemm({Transpose::kNo, Transpose::kNo, 3, 0, 4, 1, beta});
    CheckGemm({Transpose::kNo, Transpose::kNo, 3, 5, 0, 1, beta});
    CheckGemm({Transpose::kYes, Transpose::kYes, 3, 5, 0, 0, beta});
    CheckGemm({Transpose::kNo, Transpose::kNo, 0, 0, 0, 1, beta});
  }
}

TEST(GemmTest, RepeatsBitForBitOnEveryThread) {
  const int64_t m = 100, n = 80, k = 273;
  const std::vector<float> a = Uniform(RngKey(1), m * k), b = Uniform(RngKey(2), k * n);
  const auto product = [&] {
    std::vector<float> c(m * n);
    Gemm(Transpose::kNo, Transpose::kNo, m, n, k, a.data(), k, b.data(), n, 0, c.data(), n);
    return c;
  };
  const std::vector<float> here = product();
  EXPECT_EQ(product(), here);
  std::vector<float> there;
  std::thread([&] { there = product(); }).join();
  EXPECT_EQ(there, here);
}

}  // namespace
}  // namespace flotilla::kernels
