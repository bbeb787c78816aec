// Storage of the parameters of one process: sparse tables (rows by id) and dense tables (flat
// blocks), each with the update rule that changes it. Used by the local communicator and by
// servers.
//
// Flow: a communicator or server calls Pull and Push on the tables that it owns; no other code
// accesses rows, except fused steps through SparseTable::OpenRows.
#pragma once

#include <cstdint>

#include "flotilla/kernels/update.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

// Options for creating the tables of a process. Properties of the model (sizes, seed, initial
// values) are in its specs instead.
struct TableOptions {
  // Ask the operating system for huge pages: fewer TLB misses on tables larger than some hundred
  // megabytes.
  bool huge_pages = true;
  // A table with bounded ids reserves space for a row of each id, in the order of the ids, so that
  // all rows can be opened as one array (training in place). Otherwise it allocates memory only for
  // the rows that are created, like a growing table.
  bool in_order = false;
};

// The decay of a parameter: its own if it has one, otherwise that of the optimizer.
inline kernels::DecayTerms DecayOf(const ParameterAttributes& attributes,
                                   const OptimizerSpec& optimizer) {
  const Decay decay = attributes.decay.value_or(optimizer.decay);
  return {static_cast<float>(decay.l1), static_cast<float>(decay.l2)};
}

}  // namespace flotilla
