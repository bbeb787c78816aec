// Adagrad:
//   h += g^2
//   w -= rate * g / (sqrt(h) + epsilon)
// State: h. InitState sets it to initial_accumulator.
//
// Decayed Adagrad forgets old gradients: h = rho * h + (1 - rho) * g^2, which starts at zero. On
// sparse rows h decays only when the row is touched.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

struct AdagradOptions {
  double epsilon = 1e-6;           // > 0, outside the root
  double initial_accumulator = 0;  // >= 0; a positive value dampens the first steps of a row
};

struct DecayedAdagradOptions {
  double rho = 0.95;      // [0, 1): fraction of h that is kept (Paddle calls it decay)
  double epsilon = 1e-6;  // > 0, outside the root
};

OptimizerSpec Adagrad(Rate rate, AdagradOptions options = {});
OptimizerSpec DecayedAdagrad(Rate rate, DecayedAdagradOptions options = {});

// For the table in optimizers.h.
RuleEntry AdagradEntry();
RuleEntry DecayedAdagradEntry();

}  // namespace flotilla
