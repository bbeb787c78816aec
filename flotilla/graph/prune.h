// The part of a graph that some of its values need: what a model saved for inference keeps.
//
// Nodes, parameters and tables that the values do not use are dropped and the rest is numbered
// anew, in the old order. Inputs all stay, in their places: rows are parsed as for the whole graph.
// Names do not change, so parameters are still found by theirs.
#pragma once

#include <span>
#include <vector>

#include "flotilla/graph/graph.h"

namespace flotilla {

struct PrunedGraph {
  Graph graph;
  // The new index of each var of the old graph, -1 where it was dropped.
  std::vector<int> vars;
};

// An op that makes several values is kept with all of them.
// REQUIRES: graph.status is ok; `values` are indices of its vars.
PrunedGraph PruneGraph(const GraphDef& graph, std::span<const int> values);

}  // namespace flotilla
