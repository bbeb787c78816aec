// The values of a model's metrics, as reports, logs and plots hold and name them.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flotilla {

// Names and values, in the order in which the model declares the metrics. A value that is undefined
// is NaN.
using MetricValues = std::vector<std::pair<std::string, double>>;

// Whether there is a metric of that name.
inline bool HasMetric(const MetricValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return true;
  }
  return false;
}

// The value of the metric of that name, NaN if there is none.
inline double MetricValue(const MetricValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// In JSON, the value of a metric over the last batches has the name of the metric with this suffix.
inline constexpr std::string_view kWindowSuffix = "_window";

// The name of a metric in texts for people: abbreviations in capitals, others unchanged.
inline std::string DisplayName(std::string_view name) {
  return name == "auc" ? "AUC" : std::string(name);
}

}  // namespace flotilla
