// Measures the float32 multiply-add rate of the calling core, an upper limit for every dense step.
// Used by gemm_limit; involves registers only, neither caches nor memory.
#pragma once

namespace flotilla::benchmarks {

// GFLOP/s (a multiply-add counts as two) over about `seconds` on the calling thread, with the
// widest vectors that the machine has.
double MeasureFmaGflops(double seconds);

// The name of those vectors as Highway calls the target, for example "AVX3".
const char* FmaTargetName();

}  // namespace flotilla::benchmarks
