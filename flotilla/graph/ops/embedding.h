// Lookups of rows by id: in a sparse table, or in a dense parameter.
//
// Attribute "pooling" of both: how the rows of a bag of ids are combined: sum, mean, or sqrtn (the
// sum divided by the square root of their number). An empty bag gives zeros.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// Input: ids. Output: (batch, dim). Attribute "dim"; NodeDef::table names the table. The op only
// defines the shape: the step looks up all slots of a table at once.
std::unique_ptr<Op> MakeEmbedding(const NodeDef& node);

// Inputs: ids, parameter (rows, dim). Output: (batch, dim). An id outside [0, rows) is an error of
// Op::Check, which names the row and the id.
std::unique_ptr<Op> MakeDenseEmbedding(const NodeDef& node);

}  // namespace flotilla
