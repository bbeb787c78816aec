#include "flotilla/kernels/denormals.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace flotilla::kernels {
namespace {

#if defined(__SSE2__)
// Flush results to zero (bit 15) and read operands as zero (bit 6).
constexpr unsigned long long kFlushBits = 0x8040;
unsigned long long ReadControl() { return _mm_getcsr(); }
void WriteControl(unsigned long long bits) { _mm_setcsr(static_cast<unsigned>(bits)); }
#elif defined(__aarch64__)
constexpr unsigned long long kFlushBits = 1ull << 24;
unsigned long long ReadControl() {
  unsigned long long bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}
void WriteControl(unsigned long long bits) { asm volatile("msr fpcr, %0" ::"r"(bits)); }
#else
constexpr unsigned long long kFlushBits = 0;
unsigned long long ReadControl() { return 0; }
void WriteControl(unsigned long long) {}
#endif

}  // namespace

FlushDenormals::FlushDenormals() : before_(ReadControl()) { WriteControl(before_ | kFlushBits); }

FlushDenormals::~FlushDenormals() { WriteControl(before_); }

}  // namespace flotilla::kernels
