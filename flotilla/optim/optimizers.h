// All optimizers: the functions that programs call, and the table in which MakeUpdateRule finds a
// rule by its name. A new optimizer is one include and one entry here.
#pragma once

#include <vector>

#include "flotilla/optim/adagrad.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/adamax.h"
#include "flotilla/optim/ftrl.h"
#include "flotilla/optim/momentum.h"
#include "flotilla/optim/rmsprop.h"
#include "flotilla/optim/rule_entry.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {

inline std::vector<RuleEntry> OptimizerEntries() {
  return {SgdEntry(),  MomentumEntry(), AdagradEntry(), DecayedAdagradEntry(),
          AdamEntry(), AdamaxEntry(),   AdamWEntry(),   RmsPropEntry(),
          FtrlEntry()};
}

}  // namespace flotilla
