// Rows from the binary cache: the same rows as the text of the same files, several times as fast.
// The cache file of a source is created when an epoch reaches it.
#pragma once

#include <memory>
#include <vector>

#include "flotilla/dataset/cache_store.h"
#include "flotilla/dataset/row_source.h"

namespace flotilla {

// Bad rows are not in the cache, so here they leave no gap in a batch. They are counted when the
// epoch reaches their file, against the same limit as those of text. A cache file that turns out to
// be damaged is rebuilt from its source, and the epoch continues.
std::unique_ptr<RowSource> MakeCacheSource(std::unique_ptr<CacheStore> store,
                                           std::vector<InputSpec> inputs);

}  // namespace flotilla
