// A metric that a model declares: which values it reads and how it is computed. Its state is in
// metric/.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace flotilla {

struct MetricSpec {
  std::string name;                      // its name in reports, e.g. "auc"
  std::string kind;                      // a kind registered in metric/metric.cc
  std::vector<int> vars;                 // graph values it reads, e.g. {predict, label}
  std::map<std::string, double> params;  // e.g. num_thresholds
  int weight = -1;                       // the value with the rows' sample weights; -1: all are 1
  int group = -1;                        // the ids input by which rows are grouped; -1: none

  bool operator==(const MetricSpec&) const = default;
};

}  // namespace flotilla
