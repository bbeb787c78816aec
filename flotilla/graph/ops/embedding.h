// Lookups of rows by id: in a sparse table, or in a dense parameter. A weight per id
// (RaggedIds::weights), where there are weights, multiplies the row that is looked up.
//
// Attribute "pooling" of embeddings: how the (weighted) rows of a bag of ids are combined.
//   sum          their sum
//   mean         the sum divided by the sum of the weights, which is their number without weights
//   sqrtn        the sum divided by the square root of the sum of the squares of the weights
//   sum_squares  (2, dim): the sum, and the sum of the squares
//   none         (width, dim) with attribute "width": the rows in order, cut or padded with zeros
// An empty bag gives zeros, and so do weights whose divisor is 0.
#pragma once

#include <memory>

#include "flotilla/graph/op.h"

namespace flotilla {

// Input: ids. Output: (batch, dim), or as listed above. Attribute "dim"; NodeDef::table names the
// table. The op only defines the shape: the step looks up all slots of a table at once.
std::unique_ptr<Op> MakeEmbedding(const NodeDef& node);

// Inputs: ids, parameter (rows, dim). Output as of an embedding. An id outside [0, rows) is an
// error of Op::Check, which names the row and the id.
std::unique_ptr<Op> MakeDenseEmbedding(const NodeDef& node);

// The sum over pairs of features of a field-aware factorization machine (kernels/interaction.h).
// Inputs: the ids of each field, whose weights are the values of the features. Output: (batch, 1).
// Attribute "k"; the rows of the table are (fields, k). With "normalize" the sum is divided by the
// sum of the squares of the row's values. Like an embedding, it is computed by the step.
std::unique_ptr<Op> MakeFfm(const NodeDef& node);

// Input: ids. Output: (batch, width), 1 at position p of rows that have more than p ids, otherwise
// 0. No gradient. Attribute "width".
std::unique_ptr<Op> MakeSequenceMask(const NodeDef& node);

// Whether the op looks up rows of a sparse table, NodeDef::table.
bool LooksUpTable(const NodeDef& node);

}  // namespace flotilla
