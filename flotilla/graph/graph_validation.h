// The invariants of every graph. Graphs built with layers.h satisfy them by construction; a graph
// from a file is checked here before anything relies on them.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"

namespace flotilla {

// Ok if names are unique, indices are in range, every value has one source, the inputs of an op are
// computed before it, ops and attributes are known, and shapes and types match those that the ops
// infer. The error contains the location, e.g. "nodes[3].inputs[0]: ..".
Status ValidateGraph(const GraphDef& graph);

}  // namespace flotilla
