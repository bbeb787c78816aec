// Count, mean and deviation of numbers in one pass, from several threads.
#pragma once

#include <cmath>
#include <cstdint>

namespace flotilla {

// Merged as by Chan, Golub and LeVeque.
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;  // sum of (x - mean)^2

  void Add(double x) {
    ++count;
    const double off = x - mean;
    mean += off / static_cast<double>(count);
    squares += off * (x - mean);
  }
  void Merge(const Moments& other) {
    if (other.count == 0) return;
    const auto a = static_cast<double>(count), b = static_cast<double>(other.count);
    const double off = other.mean - mean;
    mean += off * b / (a + b);
    squares += other.squares + off * off * a * b / (a + b);
    count += other.count;
  }
  // Of all numbers, not an estimate of a population's; 0 if there are none.
  double deviation() const {
    return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
  }
};

}  // namespace flotilla
