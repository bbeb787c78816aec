// Metrics: mergeable state that is updated with values of the graph batch by batch. A state is
// never a parameter and never in a checkpoint; it starts at zero, and the states of workers and
// trainers merge into the global value.
//
// To add a metric: name.h/.cc with a subclass and a function that creates its MetricSpec, a test,
// and one line in the table of metric.cc. Reports, logs, curves and jobs show it by its name.
// Models that are built of layers declare it with a function of graph/layers.h.
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

// Which values of a metric are better; kNone: neither, for example because the best value is 1.
enum class MetricDirection { kNone, kLarger, kSmaller };

// Not thread-safe: one per worker, merged for reports.
class Metric {
 public:
  virtual ~Metric() = default;

  // Adds one batch; inputs, each with rows, are in the order of MetricSpec::vars. Rows whose score
  // is NaN are not counted as either class; they make Value() NaN, so that a broken model is
  // visible.
  virtual void Add(int64_t rows, std::span<const FetchedValue> inputs) = 0;

  // The value over everything added since construction, including merged states. NaN when it is
  // undefined (no rows, one class only).
  virtual double Value() const = 0;
  // A metric with a direction can decide which model is the best (Model::watch).
  virtual MetricDirection direction() const { return MetricDirection::kNone; }

  // Whether the metric reads the score of a click and the label, so that their calibration
  // (CalibrationSpec of the same values) makes sense.
  virtual bool scores_clicks() const { return false; }

  // Whether the metric keeps a window of the last batches.
  virtual bool has_window() const { return false; }
  // The value over that window; Value() if there is none.
  virtual double WindowValue() const { return Value(); }

  // If Value() suggests a mistake (in the data, the model or the settings): the likely cause and
  // what to check, as one human-readable sentence. Otherwise empty.
  virtual std::string Hint() const { return {}; }

  // The state as numbers: Merge(other.State()) adds the batches of the other metric.
  virtual std::vector<double> State() const = 0;
  // Returns an error if `state` cannot be that of a metric with the same spec; the content of this
  // metric is then undefined until Reset.
  virtual Status Merge(std::span<const double> state) = 0;
  virtual void Reset() = 0;
};

// For Merge of metrics whose state has a fixed size.
inline Status CheckStateSize(std::span<const double> state, size_t expected) {
  if (state.size() == expected) return absl::OkStatus();
  return InvalidArgument("the state of a metric has {} numbers, expected {}", state.size(),
                         expected);
}

// The largest count that a double represents exactly.
inline constexpr double kMaxMetricCount = 9007199254740992;  // 2^53

// For Merge: whether a number of a state is a valid count. A state may come from a peer, and
// converting NaN or a negative number to an integer is undefined.
inline bool IsMetricCount(double number, double most = kMaxMetricCount) {
  return number >= 0 && number <= most && number == std::floor(number);
}

// Adds a number of a state to a count, which is unchanged if the number is not a valid count.
template <typename Count>
Status AddMetricCount(double number, Count* count) {
  if (!IsMetricCount(number))
    return InvalidArgument("the state of a metric has an invalid count {}", number);
  *count += static_cast<Count>(number);
  return absl::OkStatus();
}

// Creates the metric that `spec` names, or returns an error that lists the known kinds.
StatusOr<std::unique_ptr<Metric>> MakeMetric(const MetricSpec& spec);

}  // namespace flotilla
