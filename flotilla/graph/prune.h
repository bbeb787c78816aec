// Extracts the part of a graph that some of its values need: the part that a model saved for
// inference keeps.
//
// Nodes, parameters and tables that the values do not use are dropped and the rest is renumbered in
// the old order. All inputs are kept at their positions: rows are parsed as for the whole graph.
// Names do not change, so parameters are still found by name.
#pragma once

#include <span>
#include <vector>

#include "flotilla/graph/graph.h"

namespace flotilla {

struct PrunedGraph {
  Graph graph;
  // The new index of each var of the old graph, -1 if it was dropped.
  std::vector<int> vars;
};

// An op with several outputs is kept with all of them.
// REQUIRES: graph.status is ok; `values` are indices of its vars.
PrunedGraph PruneGraph(const GraphDef& graph, std::span<const int> values);

}  // namespace flotilla
