// Adam (Kingma and Ba), with epsilon as in PyTorch: outside the root, added to the root of the
// corrected second moment.
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   w -= rate * mhat / (sqrt(vhat) + epsilon),  mhat = m / (1 - beta1^t), vhat = v / (1 - beta2^t)
// It is computed as w -= rate_t * m / (sqrt(v) + epsilon_t), which is the same:
//   rate_t = rate * sqrt(1 - beta2^t) / (1 - beta1^t),  epsilon_t = epsilon * sqrt(1 - beta2^t)
// t is the table's global step (UpdateContext::step), not a count per row. The rule only sees rows
// that a batch touched, so on sparse tables it is lazy Adam: the moments of other rows do not
// change.
// State: m, then v; both start at zero.
//
// AdamW (Loshchilov and Hutter) is Adam with decoupled weight decay, which does not affect the
// moments: first w -= rate * weight_decay * w, then the update above, with the gradient as it is.
// OptimizerSpec::decay, if given, is applied as well, inside the gradient; AdamW is usually used
// without it. On sparse tables a row decays only when it is touched.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

struct AdamOptions {
  double beta1 = 0.9;     // [0, 1)
  double beta2 = 0.999;   // [0, 1)
  double epsilon = 1e-8;  // > 0
};

struct AdamWOptions {
  double beta1 = 0.9;          // [0, 1)
  double beta2 = 0.999;        // [0, 1)
  double epsilon = 1e-8;       // > 0
  double weight_decay = 0.01;  // >= 0
};

OptimizerSpec Adam(Rate rate, AdamOptions options = {});
OptimizerSpec AdamW(Rate rate, AdamWOptions options = {});

// For the table in optimizers.h.
RuleEntry AdamEntry();
RuleEntry AdamWEntry();

}  // namespace flotilla
