// Lets a second network use the parameters of a first one: a test program beside the training
// program, or a program that reads what another one has trained. Parameters and tables are matched
// by name.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"

namespace flotilla {

// Makes the parameters and tables of `graph` those of `base`, in the same order, so that whatever
// holds the parameters of `base` (a communicator) can run plans of `graph`. Attributes (initial
// values, rates, decay) are those of `base`; values and nodes of `graph` keep their indices, and
// parameters that only `base` has are added as values behind them.
//
// InvalidArgument, and `graph` is unchanged, if it has a parameter or table that `base` does not
// have, or has with another shape, dimension or number of rows.
Status UseParametersOf(const GraphDef& base, GraphDef* graph);

}  // namespace flotilla
