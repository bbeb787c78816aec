// The number of batches between two exchanges of GEO: fixed, or chosen from the measured cost of an
// exchange.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace flotilla {

struct GeoIntervalOptions {
  // Batches of this trainer between two exchanges; 0: chosen by measurement with the options below.
  int64_t push_nums = 0;
  // The share of the total time that exchanges may take.
  double cost_share = 0.03;
  // Minimum number of exchanges in an epoch whose length is known. With fewer, copies of a network
  // that is trained from scratch drift too far apart for their mean to be useful: CTR-DNN, a
  // million rows, two trainers, batches of 1000: AUC 0.7944 with 50, 0.7942 with 33, 0.7939 with 25
  // (means of three seeds, warm_up 10), 0.788 with 12 and no warm-up (two seeds); one process:
  // 0.7966.
  int64_t exchanges_per_epoch = 33;
  // Copies drift apart fastest at the start: after n batches, at most 1 + n / warm_up of them lie
  // between two exchanges.
  int64_t warm_up = 5;
  // The interval until an exchange was measured, and the longest interval.
  int64_t first_batches = 10;
  int64_t most_batches = 400;
};

// Not thread-safe.
class GeoInterval {
 public:
  explicit GeoInterval(const GeoIntervalOptions& options)
      : options_(options), wanted_(options.first_batches) {}

  // Records an exchange: it took `cost_seconds` and covered `batches` batches, which took
  // `seconds`.
  void Measured(double cost_seconds, int64_t batches, double seconds) {
    if (batches < 1 || !(seconds > 0)) return;
    const double per_batch = seconds / static_cast<double>(batches);
    const double wanted = std::ceil(cost_seconds / (options_.cost_share * per_batch));
    wanted_ = static_cast<int64_t>(std::min(wanted, static_cast<double>(options_.most_batches)));
  }

  // Batches per epoch of this trainer; 0: unknown.
  void set_epoch_batches(int64_t batches) { epoch_batches_ = batches; }

  // The number of batches until the next exchange, at least 1, after `done` batches of this
  // trainer. If the length of an epoch is unknown, `done` is used instead.
  int64_t batches(int64_t done) const {
    if (options_.push_nums > 0) return options_.push_nums;
    const int64_t most =
        epoch_batches_ > 0 ? epoch_batches_ / options_.exchanges_per_epoch
                           : std::max(options_.first_batches, done / options_.exchanges_per_epoch);
    return std::max<int64_t>(1, std::min({wanted_, most, 1 + done / options_.warm_up}));
  }

 private:
  const GeoIntervalOptions options_;
  int64_t wanted_;
  int64_t epoch_batches_ = 0;
};

}  // namespace flotilla
