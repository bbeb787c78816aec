// RMSProp, with PyTorch's semantics:
//   v = rho * v + (1 - rho) * g^2
//   a = rho * a + (1 - rho) * g              only when centered
//   d = g / (sqrt(v) + epsilon)              centered: sqrt(max(v - a^2, 0)) + epsilon
//   w -= rate * d                            with momentum: b = momentum * b + d; w -= rate * b
// Paddle differs in three points: epsilon is inside the root, its defaults are rho 0.95 and epsilon
// 1e-6, and the rate is part of b, so that a change of the rate takes effect with a delay.
// State: v, then a when centered, then b when momentum > 0; all start at zero.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

struct RmsPropOptions {
  double rho = 0.99;      // [0, 1): fraction of the averages that is kept
  double epsilon = 1e-8;  // > 0
  double momentum = 0;    // [0, 1)
  bool centered = false;
};

OptimizerSpec RmsProp(Rate rate, RmsPropOptions options = {});

// For the table in optimizers.h.
RuleEntry RmsPropEntry();

}  // namespace flotilla
