// Gradient descent with momentum, as in PyTorch and Paddle (no dampening):
//   v = momentum * v + g
//   w -= rate * v                          plain
//   w -= rate * (g + momentum * v)         Nesterov
// State: v, which starts at zero. On sparse rows v changes only when the row is touched.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

struct MomentumOptions {
  double momentum = 0.9;  // [0, 1)
  bool nesterov = false;
};

OptimizerSpec Momentum(Rate rate, MomentumOptions options = {});

// For the table in optimizers.h.
RuleEntry MomentumEntry();

}  // namespace flotilla
