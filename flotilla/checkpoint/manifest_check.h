// Whether a manifest is right in itself, wherever it came from: a file, or the parts of a save.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

// More than any model has, and small enough that products of them do not overflow.
inline constexpr int64_t kMaxStates = 64;
inline constexpr int64_t kMaxDim = int64_t{1} << 20;
inline constexpr int64_t kMaxRows = int64_t{1} << 36;
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

// Names that are there and distinct, files that are listed and have their number of blocks, shards
// that are covered once, no state where the model says that it has none. Errors name the thing.
Status CheckManifest(const Manifest& manifest);

// Adds the parts of `table` to the table of its name, or the table. An error when the two differ in
// more than their parts. Parts are kept in the order of their shards.
Status JoinTable(const SavedTable& table, std::vector<SavedTable>* tables);

}  // namespace flotilla
