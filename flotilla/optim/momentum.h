// Gradient descent with momentum, as in PyTorch and Paddle (no dampening):
//   v = momentum * v + g
//   w -= rate * v                          plain
//   w -= rate * (g + momentum * v)         Nesterov
// State: v, which starts at zero. On sparse rows v changes only when the row is touched.
#pragma once

#include <memory>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

struct MomentumOptions {
  double momentum = 0.9;  // [0, 1)
  bool nesterov = false;
};

OptimizerSpec Momentum(double learning_rate, MomentumOptions options = {});
OptimizerSpec Momentum(ScheduleSpec learning_rate, MomentumOptions options = {});

// For the table in update_rule.cc. REQUIRES: params are checked.
std::unique_ptr<UpdateRule> MakeMomentumRule(const ParamMap& params);

}  // namespace flotilla
