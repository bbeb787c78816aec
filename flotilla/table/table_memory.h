// The memory of a table, for messages.
#pragma once

#include <fmt/format.h>

#include "flotilla/base/memory_watch.h"
#include "flotilla/table/sparse_table.h"

namespace flotilla {

// May be called while other threads use the table.
inline MemoryPart MemoryOf(const SparseTable& table) {
  return {.what = fmt::format("table {} ({} rows)", table.spec().name, table.size()),
          .bytes = static_cast<int64_t>(table.memory_bytes())};
}

}  // namespace flotilla
