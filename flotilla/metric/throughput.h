// Examples per second, over everything and since the last report. It reads no clock: whoever counts
// says what time it is, in seconds of any steady clock.
#pragma once

#include <cstdint>

namespace flotilla {

// Not thread-safe.
class Throughput {
 public:
  // Counting starts at start_seconds: for a training run, at its first read.
  explicit Throughput(double start_seconds)
      : start_(start_seconds), now_(start_seconds), lap_start_(start_seconds) {}

  // `examples` more were done by now_seconds. Time that goes back counts as no time.
  void Add(int64_t examples, double now_seconds) {
    examples_ += examples;
    if (now_seconds > now_) now_ = now_seconds;
  }

  int64_t examples() const { return examples_; }
  // From the start to the last Add.
  double seconds() const { return now_ - start_; }
  // 0 while no time has passed.
  double examples_per_second() const { return Rate(examples_, seconds()); }

  // The rate since the last call (or the start), for progress lines; then a new lap begins.
  double NextLap() {
    const double rate = Rate(examples_ - lap_examples_, now_ - lap_start_);
    lap_examples_ = examples_;
    lap_start_ = now_;
    return rate;
  }

 private:
  static double Rate(int64_t examples, double seconds) {
    return seconds > 0 ? static_cast<double>(examples) / seconds : 0;
  }

  const double start_;
  double now_;
  double lap_start_;
  int64_t examples_ = 0;
  int64_t lap_examples_ = 0;
};

}  // namespace flotilla
