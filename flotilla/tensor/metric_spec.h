// A metric that a model asks for: which values it watches and how. metric/ keeps the state.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace flotilla {

struct MetricSpec {
  std::string name;                      // what reports call it, e.g. "auc"
  std::string kind;                      // one that metric/metric.cc knows
  std::vector<int> vars;                 // graph values it reads, e.g. {predict, label}
  std::map<std::string, double> params;  // e.g. num_thresholds

  bool operator==(const MetricSpec&) const = default;
};

}  // namespace flotilla
