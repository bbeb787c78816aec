// Parses a whole stream on several threads and joins the rows in the order of the files, to fill an
// in-memory dataset.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/tensor/batch.h"

namespace flotilla {

struct LoadedRows {
  Batch rows;
  DatasetCounts counts;
};

// Stops with Cancelled soon after *give_up becomes true. ResourceExhausted when there are more rows
// than one batch can count.
StatusOr<LoadedRows> LoadRows(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                              const InMemoryOptions& options, const std::atomic<bool>* give_up);

// Joins batches of the same inputs, freeing each once it is copied; errors as above.
StatusOr<Batch> JoinRows(std::span<const InputSpec> inputs, std::vector<Batch> pieces);

}  // namespace flotilla
