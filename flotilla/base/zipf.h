// Zipf distribution, which models how often words and ids occur in real data. Maps uniform random
// numbers to ranks.
#pragma once

#include <cstdint>

namespace flotilla {

// Rank k of `values` is drawn with probability roughly proportional to k^-exponent (exactly: to the
// integral of x^-exponent from k to k + 1). Constant after construction.
class Zipf {
 public:
  // REQUIRES: values >= 1, a whole number; exponent > 0.
  Zipf(double values, double exponent);

  // Returns the rank, from 1 to values, for u in [0, 1); it increases with u.
  uint64_t Rank(double u) const;

 private:
  double values_;
  double power_;  // 1 - exponent
  double span_;   // (values + 1)^power - 1
};

}  // namespace flotilla
