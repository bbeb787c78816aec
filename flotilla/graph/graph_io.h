// Converts a graph to text and back: versioned JSON that is stored in model directories, so that
// inference needs no model code. Op names and attributes are those of ops/registry.cc.
//
//   {"format": "flotilla graph", "version": 1,
//    "inputs":     [{"name", "kind": "dense" | "ids" | "label", "width"}],
//    "parameters": [{"name", "shape", "attributes", "moving_average_keep"}],
//    "tables":     [{"name", "dim", "rows", "attributes", "keep_meta"}],
//    "vars":       [{"name", "dtype": "float" | "int" | "ids", "shape", "stop_gradient",
//                    "input" or "parameter" or "node": index}],
//    "nodes":      [{"op", "name", "inputs", "outputs", "table", "attributes"}],
//    "name_counts": {prefix: next number}}
//
// Indices count from 0 within their list; "table" is -1 if there is none. A shape is a list of
// dimensions that starts with "batch" for per-row values. The attributes of a parameter are
// {"init": {"kind", "a", "b"}, "learning_rate_factor", "decay": {"l1", "l2"} or null, "trainable"};
// those of a node are whole numbers, floats (written with a point), true, false, text, or lists of
// whole numbers. Floats that are not finite are the texts "inf", "-inf", "nan" under the key
// "float".
#pragma once

#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"

namespace flotilla {

inline constexpr int kGraphFormatVersion = 1;

// Lossless: GraphFromJson restores an equal definition. Errors: the graph's own, and names that are
// not UTF-8.
StatusOr<std::string> GraphToJson(const GraphDef& graph);

// Returns a graph that is ready to run: ops are known, indices are in range, and every shape
// matches the one that the op infers. Errors name the location in the text, e.g. "graph:
// nodes[3].inputs[0]: ..". Never aborts, for any text.
StatusOr<Graph> GraphFromJson(std::string_view text);

}  // namespace flotilla
