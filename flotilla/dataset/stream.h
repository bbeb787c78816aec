// The one door to streamed rows: from text, or from the binary cache when a directory for it is
// given.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flotilla/dataset/cache_store.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/queue_dataset.h"

namespace flotilla {

struct Stream {
  std::unique_ptr<Dataset> dataset;
  // Batch k belongs to reader k % readers; the readers' shares of the files follow each other.
  int readers = 1;
};

// Errors as QueueDataset::Make and CacheDataset::Make have them.
StatusOr<Stream> MakeStream(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                            const QueueDatasetOptions& options, const CacheOptions& cache = {});

}  // namespace flotilla
