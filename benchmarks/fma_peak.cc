// Chains of fused multiply-adds that stay in registers, compiled once per instruction set and
// selected at run time. Twelve independent chains hide a latency of 4-5 cycles on two units and
// still fit in the sixteen registers of AVX2 together with the two constants.
#include "benchmarks/fma_peak.h"

#include <chrono>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/fma_peak.cc"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::benchmarks::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kChains = 12;

// Runs `loops` rounds of all chains; returns the number of operations and stores a value that
// depends on all of them in *sink, so that the compiler cannot remove them.
int64_t FmaLoop(int64_t loops, float* sink) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, 0.999f + *sink);
  const auto shift = hn::Set(d, 1e-3f + *sink);
  auto a0 = hn::Iota(d, 0.0f), a1 = hn::Iota(d, 1.0f), a2 = hn::Iota(d, 2.0f);
  auto a3 = hn::Iota(d, 3.0f), a4 = hn::Iota(d, 4.0f), a5 = hn::Iota(d, 5.0f);
  auto a6 = hn::Iota(d, 6.0f), a7 = hn::Iota(d, 7.0f), a8 = hn::Iota(d, 8.0f);
  auto a9 = hn::Iota(d, 9.0f), a10 = hn::Iota(d, 10.0f), a11 = hn::Iota(d, 11.0f);
  for (int64_t i = 0; i < loops; ++i) {
    a0 = hn::MulAdd(a0, scale, shift);
    a1 = hn::MulAdd(a1, scale, shift);
    a2 = hn::MulAdd(a2, scale, shift);
    a3 = hn::MulAdd(a3, scale, shift);
    a4 = hn::MulAdd(a4, scale, shift);
    a5 = hn::MulAdd(a5, scale, shift);
    a6 = hn::MulAdd(a6, scale, shift);
    a7 = hn::MulAdd(a7, scale, shift);
    a8 = hn::MulAdd(a8, scale, shift);
    a9 = hn::MulAdd(a9, scale, shift);
    a10 = hn::MulAdd(a10, scale, shift);
    a11 = hn::MulAdd(a11, scale, shift);
  }
  const auto low = hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)), hn::Add(a4, a5));
  const auto high = hn::Add(hn::Add(hn::Add(a6, a7), hn::Add(a8, a9)), hn::Add(a10, a11));
  *sink = 0.0f * hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  return loops * kChains * 2 * static_cast<int64_t>(hn::Lanes(d));
}

const char* TargetName() { return hwy::TargetName(HWY_TARGET); }

}  // namespace flotilla::benchmarks::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::benchmarks {

HWY_EXPORT(FmaLoop);
HWY_EXPORT(TargetName);

double MeasureFmaGflops(double seconds) {
  constexpr int64_t kLoops = 20000;
  using Clock = std::chrono::steady_clock;
  float sink = 0;
  HWY_DYNAMIC_DISPATCH(FmaLoop)(kLoops, &sink);
  const Clock::time_point start = Clock::now();
  double operations = 0, elapsed = 0;
  while (elapsed < seconds) {
    operations += static_cast<double>(HWY_DYNAMIC_DISPATCH(FmaLoop)(kLoops, &sink));
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return operations / elapsed * 1e-9;
}

const char* FmaTargetName() { return HWY_DYNAMIC_DISPATCH(TargetName)(); }

}  // namespace flotilla::benchmarks
#endif
