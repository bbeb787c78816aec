// How a model learns, as plain values: the optimizer, the schedule of its rate, decay, clipping.
// optim/ turns them into rules and has the functions that make them: Sgd(0.1), Adam(1e-3), ..
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

// A learning rate as a function of the global step. `name` is one that optim/schedule.cc knows.
struct ScheduleSpec {
  std::string name = "constant";
  std::map<std::string, double> params;  // "rate" and what the named schedule reads
  std::vector<double> boundaries;        // piecewise: steps at which the value changes
  std::vector<double> values;            // piecewise: boundaries.size() + 1 values

  bool operator==(const ScheduleSpec&) const = default;
};

// Applied on the trainer to a step's gradients before they are pushed.
struct ClipSpec {
  enum class Kind { kNone, kValue, kNorm, kGlobalNorm };
  Kind kind = Kind::kNone;
  // kValue: each element to [-limit, limit]. kNorm: each parameter (a table's gradient counts as
  // one) to this L2 norm. kGlobalNorm: all together to this L2 norm.
  double limit = 0;

  bool operator==(const ClipSpec&) const = default;
};

struct OptimizerSpec {
  std::string name = "sgd";              // one that optim/update_rule.cc knows
  std::map<std::string, double> params;  // what the named rule reads, e.g. beta1
  ScheduleSpec learning_rate;
  Decay decay;
  ClipSpec clip;

  bool operator==(const OptimizerSpec&) const = default;
};

}  // namespace flotilla
