// Plain gradient descent: w -= rate * g. No state.
#pragma once

#include <memory>

#include "flotilla/optim/param_check.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

OptimizerSpec Sgd(double learning_rate);
OptimizerSpec Sgd(ScheduleSpec learning_rate);

// For the table in update_rule.cc. REQUIRES: params are checked.
std::unique_ptr<UpdateRule> MakeSgdRule(const ParamMap& params);

}  // namespace flotilla
