// What the parameters of one process live in: sparse tables (rows by id) and dense tables (flat
// blocks), each with the update rule that changes it. Used by the local communicator and by
// servers.
//
// Flow: a communicator or server calls Pull and Push on the tables that it owns; nobody else sees
// rows, except fused steps through SparseTable::OpenRows.
#pragma once

#include <cstdint>

#include "flotilla/kernels/update.h"
#include "flotilla/tensor/optimizer_spec.h"

namespace flotilla {

// How tables of a process are made. What belongs to the model (sizes, seed, first values) is not
// here but in its specs.
struct TableOptions {
  // Ask the system for huge pages: fewer TLB misses on tables beyond some hundred megabytes.
  bool huge_pages = true;
  // A table whose ids are bounded keeps a place for each of them, in the order of the ids, so that
  // all rows can be opened as one array (steps in place). Otherwise it takes memory for the rows
  // that come, as one that grows.
  bool in_order = false;
};

// The decay of a parameter: its own if it has one, else the optimizer's.
inline kernels::DecayTerms DecayOf(const ParameterAttributes& attributes,
                                   const OptimizerSpec& optimizer) {
  const Decay decay = attributes.decay.value_or(optimizer.decay);
  return {static_cast<float>(decay.l1), static_cast<float>(decay.l2)};
}

}  // namespace flotilla
