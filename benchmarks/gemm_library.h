// A common interface to the matrix products of other libraries, so that gemm_limit can time the
// same shapes with each. Row-major float32, on the calling thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flotilla::benchmarks {

// C = op(A) op(B): op(A) is (m, k), op(B) is (k, n), C is (m, n); rows are stored without gaps.
struct GemmShape {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;

  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n * k); }
};

// One product with its buffers, prepared once and run many times. Not thread-safe; different
// objects may run at the same time on different threads.
class PreparedGemm {
 public:
  virtual ~PreparedGemm() = default;
  virtual void Run() = 0;
};

// The libraries of this build: "dnnl_sgemm", "dnnl_matmul", "dnnl_matmul_packed" (the library
// chooses the layout of B, and the time includes converting B to it), and "openblas" if found.
std::vector<std::string> GemmLibraries();

// REQUIRES: library is one of GemmLibraries(); the buffers hold the shape and outlive the result.
std::unique_ptr<PreparedGemm> PrepareGemm(const std::string& library, const GemmShape& shape,
                                          float* a, float* b, float* c);

// Makes oneDNN and OpenBLAS use one thread for products that the calling thread starts.
void UseOneGemmThread();

}  // namespace flotilla::benchmarks
