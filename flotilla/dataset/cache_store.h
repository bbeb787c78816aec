// The directory of the binary cache: finds the cache file of a source file, and builds it when it
// does not exist, belongs to another version of the source, the parser or the inputs, or is
// damaged.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/cache_file.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {

// A cache file is keyed by the path, size and modification time of its source, the parser's
// identity, the inputs, the pipe command and the maximum line length. If any of these differs, the
// file is rebuilt, and a log line states the reason. A change of the program behind an unchanged
// pipe command is not detected.
//
// Thread-safe.
class CacheStore {
 public:
  // Creates the directory. InvalidArgument for sources without a size and modification time
  // (standard input, remote paths), and when the directory cannot be created. REQUIRES: the options
  // name a cache directory.
  static StatusOr<std::unique_ptr<CacheStore>> Make(std::vector<std::string> sources,
                                                    std::shared_ptr<const Parser> parser,
                                                    const StreamOptions& options);

  // Returns the rows of source `index` from its cache file, which is built if necessary. Errors of
  // reading the source are those of MakeStream.
  StatusOr<std::shared_ptr<const CacheFile>> Get(size_t index);

  // Like Get, after `broken` was found to be damaged: rebuilds the file, unless another thread
  // already has. FailedPrecondition when the source has changed in the meantime.
  StatusOr<std::shared_ptr<const CacheFile>> Replace(size_t index,
                                                     const std::shared_ptr<const CacheFile>& broken,
                                                     const Status& damage);

  // Closes the open file, so that the next Get checks source and cache file again.
  void Close();

  const std::vector<std::string>& sources() const { return sources_; }

 private:
  CacheStore(std::vector<std::string> sources, std::shared_ptr<const Parser> parser,
             const StreamOptions& options);
  std::string PathOf(const std::string& source) const;
  StatusOr<std::string> KeyOf(const std::string& source) const;
  // Opens the cache file, or builds it.
  StatusOr<std::shared_ptr<const CacheFile>> OpenOrBuild(const std::string& source)
      FL_REQUIRES(mutex_);
  StatusOr<std::shared_ptr<const CacheFile>> Build(const std::string& source,
                                                   const std::string& key) FL_REQUIRES(mutex_);
  Status ParseInto(const std::string& source, CacheWriter* writer) const;
  void Log(const std::string& line) const;

  // Constant after construction.
  const std::vector<std::string> sources_;
  const std::shared_ptr<const Parser> parser_;
  const StreamOptions options_;

  Mutex mutex_;
  // The most recently requested file.
  size_t open_index_ FL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const CacheFile> open_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
