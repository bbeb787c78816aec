// The rules that every graph keeps. Graphs built with layers.h keep them by construction; a graph
// that comes from a file is checked here before anything relies on them.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"

namespace flotilla {

// Ok if names are unique, indices are in range, every value has one source, an op's inputs are made
// before it, ops and attributes are known, and shapes and types are what the ops infer. The error
// says where, e.g. "nodes[3].inputs[0]: ..".
Status ValidateGraph(const GraphDef& graph);

}  // namespace flotilla
