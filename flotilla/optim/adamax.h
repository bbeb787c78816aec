// Adamax (Kingma and Ba), Adam with the infinity norm, with epsilon as in PyTorch:
//   m = beta1 * m + (1 - beta1) * g
//   u = max(beta2 * u, |g| + epsilon)
//   w -= rate / (1 - beta1^t) * m / u
// t is the table's global step, as in adam.h. State: m, then u; both start at zero.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

struct AdamaxOptions {
  double beta1 = 0.9;     // [0, 1)
  double beta2 = 0.999;   // [0, 1)
  double epsilon = 1e-8;  // > 0: keeps u above zero
};

OptimizerSpec Adamax(Rate rate, AdamaxOptions options = {});

// For the table in optimizers.h.
RuleEntry AdamaxEntry();

}  // namespace flotilla
