// Numbers too small for a full mantissa make x86 arithmetic up to a hundred times slower, and
// decayed optimizer state is full of them. Whoever trains or serves parameters holds one of these
// while it computes: such numbers then count as zero on this thread, in every mode alike, so
// results agree.
#pragma once

namespace flotilla::kernels {

class FlushDenormals {
 public:
  FlushDenormals();
  // Restores what was before.
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned long long before_;
};

}  // namespace flotilla::kernels
