// Metrics: mergeable state that watches values of the graph batch by batch. A state is never a
// parameter and never in a checkpoint; it starts at zero, and the states of workers and trainers
// merge into the global figure.
//
// To add a metric: name.h/.cc with a subclass and a function that makes its MetricSpec, a test, and
// one line in the table of metric.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/fetched_value.h"
#include "flotilla/tensor/metric_spec.h"

namespace flotilla {

// Not thread-safe: one per worker, merged for reports.
class Metric {
 public:
  virtual ~Metric() = default;

  // Counts one batch; inputs, each with rows, stand in the order of MetricSpec::vars. Rows whose
  // score is NaN are not counted as either class; they make Value() NaN, so a broken model shows.
  virtual void Add(int64_t rows, std::span<const FetchedValue> inputs) = 0;

  // The figure over everything added since construction, merged states included. NaN when it is
  // undefined (no rows, one class only).
  virtual double Value() const = 0;
  // The same over the last batches only, where the metric keeps such a window; else Value().
  virtual double WindowValue() const { return Value(); }

  // Where Value() looks like a mistake (of the data, the model or the settings) rather than a
  // result: the likely cause and what to look at, as one sentence for a person. Else empty.
  virtual std::string Hint() const { return {}; }

  // The state as numbers: Merge(other.State()) counts the other's batches too.
  virtual std::vector<double> State() const = 0;
  // An error where `state` cannot be that of a metric with the same spec; what this one has counted
  // is then undefined until Reset.
  virtual Status Merge(std::span<const double> state) = 0;
  virtual void Reset() = 0;
};

// For Merge of metrics whose state has a fixed size.
inline Status CheckStateSize(std::span<const double> state, size_t expected) {
  if (state.size() == expected) return absl::OkStatus();
  return InvalidArgument("a metric's state of {} numbers, not {}", state.size(), expected);
}

// A double counts no further.
inline constexpr double kMaxMetricCount = 9007199254740992;  // 2^53

// For Merge: whether a number of a state can be a count. A state may come from a peer, and turning
// NaN or a negative number into an integer is undefined.
inline bool IsMetricCount(double number, double most = kMaxMetricCount) {
  return number >= 0 && number <= most && number == std::floor(number);
}

// Adds a number of a state to a count, which stays as it is where the number is none.
template <typename Count>
Status AddMetricCount(double number, Count* count) {
  if (!IsMetricCount(number)) return InvalidArgument("a metric's state counts {} rows", number);
  *count += static_cast<Count>(number);
  return absl::OkStatus();
}

// The metric that `spec` names, or an error that lists the known kinds.
StatusOr<std::unique_ptr<Metric>> MakeMetric(const MetricSpec& spec);

}  // namespace flotilla
