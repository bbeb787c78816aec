#include "flotilla/dataset/stream.h"

#include <utility>

#include "flotilla/dataset/cache_dataset.h"

namespace flotilla {

StatusOr<Stream> MakeStream(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                            const QueueDatasetOptions& options, const CacheOptions& cache) {
  Stream stream;
  if (!cache.dir.empty()) {
    FL_ASSIGN_OR_RETURN(stream.dataset,
                        CacheDataset::Make(std::move(files), std::move(parser), options, cache));
    return stream;
  }
  FL_ASSIGN_OR_RETURN(std::unique_ptr<QueueDataset> queue,
                      QueueDataset::Make(std::move(files), std::move(parser), options));
  stream.readers = queue->readers();
  stream.dataset = std::move(queue);
  return stream;
}

}  // namespace flotilla
