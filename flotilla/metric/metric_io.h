// Converts the metrics of a model to text and back, so that a saved model includes how it is
// evaluated:
//
//   [{"name", "kind", "vars": [index of a graph value, ..], "params": {name: number}}, ..]
//
// and "weight" and "group", indices of graph values, in those that have them.
//
// It does not know the graph: callers that have both must check whether the indices fit.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/metric_spec.h"

namespace flotilla {

// Lossless: MetricsFromJson restores equal specs. Errors name the metric: text that is not UTF-8, a
// parameter that is not finite.
StatusOr<std::string> MetricsToJson(std::span<const MetricSpec> metrics);

// Errors name the location in the text, e.g. "[1].vars: ..". Whether a kind is known is checked
// only when the metric is created (MakeMetric). Never aborts, for any text.
StatusOr<std::vector<MetricSpec>> MetricsFromJson(std::string_view text);

}  // namespace flotilla
