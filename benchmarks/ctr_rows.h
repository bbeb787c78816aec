// Made-up rows of the CTR benchmarks, with repeated ids as in Criteo. benchmarks/ctr_data.py makes
// the same rows in Python.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// The id of slot s in row r has rank = floor(values[s % 6] ^ u), and is Mix64(2000003 s + rank) %
// 1000001.
uint64_t MadeUpId(const RngKey& root, int slot, int64_t row);

// Ids per row of an input "history".
constexpr int kHistoryLength = 20;

// Rows for these inputs. Slots are counted over the id inputs; id(root, slot, row) is MadeUpId or
// another function.
using IdFunction = std::function<uint64_t(const RngKey& root, int slot, int64_t row)>;
Batch MadeUpRows(const std::vector<InputSpec>& inputs, int64_t rows, const IdFunction& id);

}  // namespace flotilla
