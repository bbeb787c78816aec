// Metrics: mergeable state that is updated with values of the graph batch by batch. A state is
// never a parameter and never in a checkpoint; it starts at zero, and the states of workers and
// trainers merge into the global value.
//
// To add a metric: name.h/.cc with a subclass and a function that creates its MetricSpec, a test,
// and one line in the table of metric.cc. Reports, logs, curves and jobs show it by its name.
// Models that are built of layers declare it with a function of graph/layers.h; for a metric of
// scores and labels that is one line in the header (ScoreMetric).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/fetched_value.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/tensor/metric_values.h"

namespace flotilla {

// Which values of a metric are better; kNone: neither, for example because the best value is 1.
enum class MetricDirection { kNone, kLarger, kSmaller };

// What a metric reads of one batch. Everything pointed to is valid during the call.
struct MetricBatch {
  int64_t rows = 0;
  std::span<const FetchedValue> inputs;  // in the order of MetricSpec::vars
  // Sample weights, one per row; empty: every row has weight 1.
  std::span<const float> weights = {};
  FetchedValue groups = {};  // the ids of MetricSpec::group; no ids if the spec has none

  // Calls add(row, weight) for every row, where weight converts to double. Rows without weights
  // have their own instance of `add`, in which the weight is the constant 1 and costs nothing.
  template <typename Add>
  void ForEachRow(Add add) const {
    if (weights.empty()) {
      for (int64_t row = 0; row < rows; ++row) add(row, std::integral_constant<int, 1>());
    } else {
      for (int64_t row = 0; row < rows; ++row) add(row, weights[row]);
    }
  }
};

// A row with another weight (negative, NaN, infinite) is broken.
inline bool IsMetricWeight(double weight) {
  return weight >= 0 && weight <= std::numeric_limits<double>::max();
}

// Not thread-safe: one per worker, merged for reports.
class Metric {
 public:
  virtual ~Metric() = default;

  // Adds one batch. A row counts by its sample weight: a row of weight 2 counts as two equal rows.
  // Rows whose score is NaN, or whose weight is invalid, are broken: they are not counted as either
  // class and make Value() NaN, so that a broken model is visible.
  virtual void Add(const MetricBatch& batch) = 0;

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

  // Further figures behind the value, e.g. how many groups it covers; "groups" of the metric "gauc"
  // is gauc_groups in results.
  virtual MetricValues Details() const { return {}; }

  // The state as numbers: Merge(other.State()) adds the batches of the other metric.
  virtual std::vector<double> State() const = 0;
  // A state for figures that are shown while an epoch runs, several times per second. For metrics
  // with a large state it covers only a sample of the rows.
  virtual std::vector<double> LiveState() const { return State(); }
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

// Adds a number of a state to a sum of sample weights, which is unchanged if the number cannot be
// such a sum.
inline Status AddMetricWeight(double number, double* sum) {
  if (!IsMetricWeight(number))
    return InvalidArgument("the state of a metric has an invalid sum of weights {}", number);
  *sum += number;
  return absl::OkStatus();
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
