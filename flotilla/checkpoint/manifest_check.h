// Consistency checks of a manifest, regardless of its origin: a file, or the parts of a save.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

// Limits larger than any model needs, and small enough that their products do not overflow.
inline constexpr int64_t kMaxStates = 64;
inline constexpr int64_t kMaxDim = int64_t{1} << 20;
inline constexpr int64_t kMaxRows = int64_t{1} << 36;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

// Checks that names are non-empty and distinct, files are listed and have the right number of
// blocks, shards are covered exactly once, and there is no state if the model declares none. Errors
// name the offending item.
Status CheckManifest(const Manifest& manifest);

// Adds the parts of `table` to the table of the same name in *tables, or adds the table itself.
// Error when the two differ in more than their parts. Parts are kept in the order of their shards.
Status JoinTable(const SavedTable& table, std::vector<SavedTable>* tables);

}  // namespace flotilla
