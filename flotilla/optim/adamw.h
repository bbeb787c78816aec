// AdamW (Loshchilov and Hutter): Adam with decoupled weight decay, which does not affect the
// moments.
//   w -= rate * weight_decay * w
//   then Adam's update of adam.h, with the gradient as it is
// OptimizerSpec::decay, if given, is applied as well, inside the gradient; AdamW is usually used
// without it. On sparse tables a row decays only when it is touched.
// State: m, then v; both start at zero.
#pragma once

#include <memory>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

struct AdamWOptions {
  double beta1 = 0.9;          // [0, 1)
  double beta2 = 0.999;        // [0, 1)
  double epsilon = 1e-8;       // > 0
  double weight_decay = 0.01;  // >= 0
};

OptimizerSpec AdamW(double learning_rate, AdamWOptions options = {});
OptimizerSpec AdamW(ScheduleSpec learning_rate, AdamWOptions options = {});

// For the table in update_rule.cc. REQUIRES: params are checked.
std::unique_ptr<UpdateRule> MakeAdamWRule(const ParamMap& params);

}  // namespace flotilla
