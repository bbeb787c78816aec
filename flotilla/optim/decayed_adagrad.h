// Adagrad with an exponentially decaying accumulator:
//   h = rho * h + (1 - rho) * g^2
//   w -= rate * g / (sqrt(h) + epsilon)
// State: h, which starts at zero. On sparse rows h decays only when the row is touched.
#pragma once

#include <memory>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

struct DecayedAdagradOptions {
  double rho = 0.95;      // [0, 1): fraction of h that is kept (Paddle calls it decay)
  double epsilon = 1e-6;  // > 0, outside the root
};

OptimizerSpec DecayedAdagrad(double learning_rate, DecayedAdagradOptions options = {});
OptimizerSpec DecayedAdagrad(ScheduleSpec learning_rate, DecayedAdagradOptions options = {});

// For the table in update_rule.cc. REQUIRES: params are checked.
std::unique_ptr<UpdateRule> MakeDecayedAdagradRule(const ParamMap& params);

}  // namespace flotilla
