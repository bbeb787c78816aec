// Training settings of a model as plain values: the optimizer, its learning rate schedule, decay,
// clipping. optim/ turns them into rules and has the functions that create them: Sgd(0.1),
// Adam(1e-3), ..
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

// A learning rate as a function of the global step. `name` is a schedule registered in
// optim/schedule.cc.
struct ScheduleSpec {
  std::string name = "constant";
  std::map<std::string, double> params;  // "rate" and the parameters of the named schedule
  std::vector<double> boundaries;        // piecewise: steps at which the value changes
  std::vector<double> values;            // piecewise: boundaries.size() + 1 values

  bool operator==(const ScheduleSpec&) const = default;
};

// Applied on the trainer to a step's gradients before they are pushed.
struct ClipSpec {
  enum class Kind { kNone, kValue, kNorm, kGlobalNorm };
  Kind kind = Kind::kNone;
  // kValue: clips each element to [-limit, limit]. kNorm: clips each parameter (a table's gradient
  // counts as one) to this L2 norm. kGlobalNorm: clips all gradients together to this L2 norm.
  double limit = 0;

  bool operator==(const ClipSpec&) const = default;
};

struct OptimizerSpec {
  std::string name = "sgd";              // a rule of optim/optimizers.h
  std::map<std::string, double> params;  // parameters of the named rule, e.g. beta1
  ScheduleSpec learning_rate;
  Decay decay;
  ClipSpec clip;

  bool operator==(const OptimizerSpec&) const = default;
};

}  // namespace flotilla
