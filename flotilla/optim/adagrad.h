// Adagrad:
//   h += g^2
//   w -= rate * g / (sqrt(h) + epsilon)
// State: h. InitState sets it to initial_accumulator.
#pragma once

#include <memory>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

struct AdagradOptions {
  double epsilon = 1e-6;           // > 0, outside the root
  double initial_accumulator = 0;  // >= 0; a positive value dampens the first steps of a row
};

OptimizerSpec Adagrad(double learning_rate, AdagradOptions options = {});
OptimizerSpec Adagrad(ScheduleSpec learning_rate, AdagradOptions options = {});

// For the table in update_rule.cc. REQUIRES: params are checked.
std::unique_ptr<UpdateRule> MakeAdagradRule(const ParamMap& params);

}  // namespace flotilla
