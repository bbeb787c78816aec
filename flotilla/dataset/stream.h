// The single entry point for streamed rows: from text, or from the binary cache when a cache
// directory is given.
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
  // Batch k belongs to reader k % readers; the readers' shares of the files are contiguous and in
  // order.
  int readers = 1;
};

// Errors are those of QueueDataset::Make and CacheDataset::Make.
StatusOr<Stream> MakeStream(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                            const QueueDatasetOptions& options, const CacheOptions& cache = {});

}  // namespace flotilla
