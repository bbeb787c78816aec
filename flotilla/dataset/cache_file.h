// One file of the binary cache: the parsed rows of one source file, packed in checksummed blocks.
// docs/cache_format.md describes the bytes. cache_store.h decides which source a file belongs to
// and when it is rebuilt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/output_file.h"
#include "flotilla/base/status.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// Maximum number of rows per block.
inline constexpr int64_t kCacheBlockRows = 1024;

// A block and its location in the file.
struct CacheBlock {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  uint64_t checksum = 0;  // XXH64 of the bytes
};

// Writes a cache file through OutputFile, so that a file of the final name is either complete or
// absent. The destructor removes an unfinished file. Several processes may write the same file.
class CacheWriter {
 public:
  // `key` identifies what the rows were generated from, as lines "name=value".
  static StatusOr<std::unique_ptr<CacheWriter>> Make(std::string path, std::string_view key,
                                                     std::vector<InputSpec> inputs);
  // Adds the rows of a batch; batch.ordinal is its position among the batches. Thread-safe; the
  // order of the calls does not matter. REQUIRES: 0 < batch.rows <= kCacheBlockRows.
  Status Add(const Batch& batch);

  // Writes the index and renames the file to its final name. Called once, after all calls of Add.
  Status Finish(int64_t skipped, const std::vector<std::string>& samples);

 private:
  CacheWriter(OutputFile file, std::vector<InputSpec> inputs);
  Status Write(std::string_view bytes) FL_REQUIRES(mutex_);

  const std::vector<InputSpec> inputs_;

  Mutex mutex_;
  OutputFile file_ FL_GUARDED_BY(mutex_);
  uint64_t bytes_written_ FL_GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<int64_t, CacheBlock>> blocks_ FL_GUARDED_BY(mutex_);  // with their ordinals
};

// Reads a cache file. Thread-safe: workers may read the same or different rows concurrently. Each
// block that is read is verified against its checksum; the last few stay in memory, packed.
class CacheFile {
 public:
  // NotFound when there is no such file. FailedPrecondition, with the difference, when it was
  // generated from something other than `key`, or by another version. DataLoss when it is damaged.
  static StatusOr<std::shared_ptr<const CacheFile>> Open(const std::string& path,
                                                         std::string_view key,
                                                         std::vector<InputSpec> inputs);
  ~CacheFile();
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;

  int64_t rows() const { return first_rows_.back(); }
  // Number of bad rows of the source, which are not in the file, and a sample of the first few.
  int64_t skipped() const { return skipped_; }
  const std::vector<std::string>& samples() const { return samples_; }

  // Appends rows [begin, end) to `batch`. DataLoss when a block is damaged; some of the rows may
  // have been appended in that case. REQUIRES: 0 <= begin <= end <= rows(); the batch has a field
  // per input.
  Status Append(int64_t begin, int64_t end, Batch* batch) const;

 private:
  struct Loaded;  // a block in memory

  CacheFile(std::string path, int fd, std::vector<InputSpec> inputs);
  Status ReadAt(uint64_t offset, size_t bytes, char* out) const;
  Status ReadHeader(std::string_view key, uint64_t file_bytes);
  Status ReadFooter(uint64_t file_bytes);
  Status ParseFooter(std::string_view footer);
  Status Damaged(const std::string& what) const;
  // Returns the block; reads and verifies it if it is not in memory.
  StatusOr<std::shared_ptr<const Loaded>> Get(size_t block) const;
  Status Load(size_t block, Loaded* loaded) const;

  // Constant after Open.
  const std::string path_;
  const int fd_;
  const std::vector<InputSpec> inputs_;
  uint64_t blocks_begin_ = 0, blocks_end_ = 0;  // the range of the file that may hold blocks
  std::vector<CacheBlock> blocks_;              // in the order of their rows
  std::vector<int64_t> first_rows_ = {0};       // first row of each block, then the number of rows
  int64_t skipped_ = 0;
  std::vector<std::string> samples_;

  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<Loaded>> recent_ FL_GUARDED_BY(mutex_);  // most recent first
};

}  // namespace flotilla
