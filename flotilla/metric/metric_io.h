// The metrics of a model as text and back, so that a saved model says how it is judged:
//
//   [{"name", "kind", "vars": [index of a graph value, ..], "params": {name: number}}, ..]
//
// It does not know the graph: whether the indices fit is for whoever has both.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/metric_spec.h"

namespace flotilla {

// Exact: MetricsFromJson gives back equal specs. Errors name the metric: text that is not UTF-8, a
// parameter that is not finite.
StatusOr<std::string> MetricsToJson(std::span<const MetricSpec> metrics);

// Errors say where in the text, e.g. "[1].vars: ..". Whether a kind is known is found when the
// metric is made (MakeMetric). Never aborts, whatever the text.
StatusOr<std::vector<MetricSpec>> MetricsFromJson(std::string_view text);

}  // namespace flotilla
