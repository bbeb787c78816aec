// Flushes denormal numbers to zero on the current thread. Denormals make x86 arithmetic up to a
// hundred times slower, and decayed optimizer state is full of them. Every thread that trains or
// serves parameters holds a FlushDenormals while it computes: denormals then count as zero, in
// every mode alike, so results agree.
#pragma once

namespace flotilla::kernels {

class FlushDenormals {
 public:
  FlushDenormals();
  // Restores the previous setting.
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned long long before_;
};

}  // namespace flotilla::kernels
