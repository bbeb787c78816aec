// Plain gradient descent: w -= rate * g. No state.
#pragma once

#include "flotilla/optim/rule_entry.h"

namespace flotilla {

OptimizerSpec Sgd(Rate rate);

// For the table in optimizers.h.
RuleEntry SgdEntry();

}  // namespace flotilla
