// Matrix product through oneDNN's sgemm, whose C interface is row-major. The narrow products of the
// same header are in skinny.cc.
#include "flotilla/kernels/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "flotilla/base/signal_stack.h"
#include "flotilla/base/status.h"

namespace flotilla::kernels {
namespace {

// Once per thread. oneDNN asks OpenMP how many threads the calling thread may start: one. While its
// AVX-512 code runs, the stack pointer points into the heap, so that a signal handler needs another
// stack.
void PrepareThread() {
  thread_local const bool done = [] {
    omp_set_num_threads(1);
    UseSignalStack();
    return true;
  }();
  (void)done;
}

void ScaleByBeta(int64_t m, int64_t n, float beta, float* c, int64_t ldc) {
  if (beta != 0) return;
  for (int64_t r = 0; r < m; ++r) std::fill_n(c + r * ldc, n, 0.0f);
}

}  // namespace

void Gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) return ScaleByBeta(m, n, beta, c, ldc);
  PrepareThread();
  const dnnl_status_t status =
      dnnl_sgemm(ta == Transpose::kYes ? 'T' : 'N', tb == Transpose::kYes ? 'T' : 'N', m, n, k,
                 1.0f, a, lda, b, ldb, beta, c, ldc);
  FL_CHECK(status == dnnl_success);
}

}  // namespace flotilla::kernels
