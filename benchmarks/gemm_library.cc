// oneDNN's sgemm, its matmul primitive (plain and packed weights) and OpenBLAS.
#include "benchmarks/gemm_library.h"

#include <dnnl.h>
#include <omp.h>

#include <dnnl.hpp>

#ifdef FLOTILLA_HAVE_OPENBLAS
// Declared here rather than through cblas.h: Debian places that header differently for each BLAS.
extern "C" {
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc);
void openblas_set_num_threads(int threads);
}
#endif

namespace flotilla::benchmarks {
namespace {

class DnnlSgemm : public PreparedGemm {
 public:
  DnnlSgemm(const GemmShape& shape, const float* a, const float* b, float* c)
      : shape_(shape), a_(a), b_(b), c_(c) {}

  void Run() override {
    const GemmShape& s = shape_;
    dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a_,
               s.transpose_a ? s.m : s.k, b_, s.transpose_b ? s.k : s.n, 0.0f, c_, s.n);
  }

 private:
  const GemmShape shape_;
  const float* const a_;
  const float* const b_;
  float* const c_;
};

dnnl::engine& Engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

class DnnlMatmul : public PreparedGemm {
 public:
  DnnlMatmul(const GemmShape& s, bool packed, float* a, float* b, float* c) : stream_(Engine()) {
    using Tag = dnnl::memory::format_tag;
    const auto type = dnnl::memory::data_type::f32;
    const dnnl::memory::desc da({s.m, s.k}, type, s.transpose_a ? Tag::ba : Tag::ab);
    const dnnl::memory::desc db({s.k, s.n}, type, s.transpose_b ? Tag::ba : Tag::ab);
    const dnnl::memory::desc dc({s.m, s.n}, type, Tag::ab);
    const dnnl::memory::desc any({s.k, s.n}, type, Tag::any);
    const dnnl::memory::desc& weights = packed ? any : db;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc desc(Engine(), da, weights, dc);
#else
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(da, weights, dc), Engine());
#endif
    matmul_ = dnnl::matmul(desc);
    plain_b_ = dnnl::memory(db, Engine(), b);
    b_ = plain_b_;
    if (desc.weights_desc() != db) {
      b_ = dnnl::memory(desc.weights_desc(), Engine());
      reorder_ = dnnl::reorder(plain_b_, b_);
    }
    arguments_ = {{DNNL_ARG_SRC, dnnl::memory(da, Engine(), a)},
                  {DNNL_ARG_WEIGHTS, b_},
                  {DNNL_ARG_DST, dnnl::memory(dc, Engine(), c)}};
  }

  void Run() override {
    if (reorder_) reorder_.execute(stream_, plain_b_, b_);
    matmul_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  dnnl::matmul matmul_;
  dnnl::reorder reorder_;
  dnnl::memory plain_b_, b_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

#ifdef FLOTILLA_HAVE_OPENBLAS
class OpenBlas : public PreparedGemm {
 public:
  OpenBlas(const GemmShape& shape, const float* a, const float* b, float* c)
      : shape_(shape), a_(a), b_(b), c_(c) {}

  // BLAS is column-major: the row-major C = A B is its C^T = B^T A^T.
  void Run() override {
    const int m = static_cast<int>(shape_.m), n = static_cast<int>(shape_.n);
    const int k = static_cast<int>(shape_.k);
    const float one = 1.0f, zero = 0.0f;
    const int lda = shape_.transpose_a ? m : k, ldb = shape_.transpose_b ? k : n;
    sgemm_(shape_.transpose_b ? "T" : "N", shape_.transpose_a ? "T" : "N", &n, &m, &k, &one, b_,
           &ldb, a_, &lda, &zero, c_, &n);
  }

 private:
  const GemmShape shape_;
  const float* const a_;
  const float* const b_;
  float* const c_;
};
#endif

}  // namespace

std::vector<std::string> GemmLibraries() {
  std::vector<std::string> names = {"dnnl_sgemm", "dnnl_matmul", "dnnl_matmul_packed"};
#ifdef FLOTILLA_HAVE_OPENBLAS
  names.push_back("openblas");
#endif
  return names;
}

std::unique_ptr<PreparedGemm> PrepareGemm(const std::string& library, const GemmShape& shape,
                                          float* a, float* b, float* c) {
#ifdef FLOTILLA_HAVE_OPENBLAS
  if (library == "openblas") return std::make_unique<OpenBlas>(shape, a, b, c);
#endif
  if (library == "dnnl_sgemm") return std::make_unique<DnnlSgemm>(shape, a, b, c);
  return std::make_unique<DnnlMatmul>(shape, library == "dnnl_matmul_packed", a, b, c);
}

void UseOneGemmThread() {
  omp_set_num_threads(1);
#ifdef FLOTILLA_HAVE_OPENBLAS
  openblas_set_num_threads(1);
#endif
}

}  // namespace flotilla::benchmarks
