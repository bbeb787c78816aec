// The directory of the binary cache: finds the cache file of a source file, and makes it when it is
// not there, belongs to another version of the source, the parser or the inputs, or is damaged.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/dataset/cache_file.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/queue_dataset.h"

namespace flotilla {

struct CacheOptions {
  std::string dir;  // made when it is not there; empty: no cache
  int threads = 1;  // that parse when a cache file is made
};

// A cache file belongs to a path, size and time of change of its source, the parser's identity, the
// inputs, the pipe command and the longest line. Whatever of these differs, the file is made again,
// and a line in the log says why. A program behind an unchanged pipe command is not looked at.
//
// Thread-safe.
class CacheStore {
 public:
  // Makes the directory. InvalidArgument for sources without a size and time (standard input,
  // remote paths), and when the directory cannot be made.
  static StatusOr<std::unique_ptr<CacheStore>> Make(std::vector<std::string> sources,
                                                    std::shared_ptr<const Parser> parser,
                                                    const QueueDatasetOptions& options,
                                                    const CacheOptions& cache);

  // The rows of source `index`, from its cache file, made if need be. Errors of reading the source
  // as QueueDataset has them.
  StatusOr<std::shared_ptr<const CacheFile>> Get(size_t index);

  // The same after `broken` was found to be damaged: makes the file again, unless somebody already
  // has. FailedPrecondition when the source has changed meanwhile.
  StatusOr<std::shared_ptr<const CacheFile>> Replace(size_t index,
                                                     const std::shared_ptr<const CacheFile>& broken,
                                                     const Status& damage);

  // Forgets what is open, so that the next Get looks at source and cache file again.
  void Close();

  const std::vector<std::string>& sources() const { return sources_; }

 private:
  CacheStore(std::vector<std::string> sources, std::shared_ptr<const Parser> parser,
             const QueueDatasetOptions& options, const CacheOptions& cache);
  std::string PathOf(const std::string& source) const;
  StatusOr<std::string> KeyOf(const std::string& source) const;
  // Opens the cache file, or makes it. REQUIRES: mutex_ is held, here and below.
  StatusOr<std::shared_ptr<const CacheFile>> OpenOrBuild(const std::string& source);
  StatusOr<std::shared_ptr<const CacheFile>> Build(const std::string& source,
                                                   const std::string& key);
  Status ParseInto(const std::string& source, CacheWriter* writer) const;
  void Log(const std::string& line) const;

  // Constant after construction.
  const std::vector<std::string> sources_;
  const std::shared_ptr<const Parser> parser_;
  const QueueDatasetOptions options_;
  const CacheOptions cache_;

  std::mutex mutex_;
  // Guarded by mutex_: the file that was asked for last.
  size_t open_index_ = 0;
  std::shared_ptr<const CacheFile> open_;
};

}  // namespace flotilla
