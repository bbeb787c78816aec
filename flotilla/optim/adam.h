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
#pragma once

#include <memory>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

struct AdamOptions {
  double beta1 = 0.9;     // [0, 1)
  double beta2 = 0.999;   // [0, 1)
  double epsilon = 1e-8;  // > 0
};

OptimizerSpec Adam(double learning_rate, AdamOptions options = {});
OptimizerSpec Adam(ScheduleSpec learning_rate, AdamOptions options = {});

// The constants of one update. decoupled_decay is that of AdamW, as a fraction of w; the kernel's
// `rate` and `epsilon` contain the bias correction. REQUIRES: context.step >= 1.
kernels::AdamTerms AdamTermsAt(const AdamOptions& options, const UpdateContext& context,
                               double decoupled_decay = 0);

// For the table in update_rule.cc. REQUIRES: params are checked.
std::unique_ptr<UpdateRule> MakeAdamRule(const ParamMap& params);

}  // namespace flotilla
