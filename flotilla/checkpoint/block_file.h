// A file in checksummed blocks: the writer accepts bytes in any order and hashes each block when it
// is complete, the reader verifies blocks against the hashes. Used by writer.h and reader.h; it
// knows nothing of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/manifest.h"

namespace flotilla {

inline constexpr int64_t kBlockBytes = int64_t{1} << 20;

// The bytes of values in memory and, since the format is little-endian, in files.
template <typename T>
std::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// Writes a file of known size, each byte once. Memory: one block per concurrent write position. Not
// thread-safe. Errors name the file, the offset and the cause.
class BlockFileWriter {
 public:
  // Creates the file. `path` is also its name in errors; `name` is its name in the manifest.
  static StatusOr<std::unique_ptr<BlockFileWriter>> Make(const std::string& path, std::string name,
                                                         int64_t bytes);
  ~BlockFileWriter();
  BlockFileWriter(const BlockFileWriter&) = delete;
  BlockFileWriter& operator=(const BlockFileWriter&) = delete;

  // REQUIRES: the range is inside the file and none of it was written before.
  Status Write(int64_t offset, std::string_view bytes);

  // Syncs and closes the file. REQUIRES: every byte was written.
  StatusOr<SavedFile> Finish(bool sync);

 private:
  // A block that is partly filled.
  struct OpenBlock {
    std::vector<char> bytes;
    int64_t filled = 0;
  };

  BlockFileWriter(std::string path, SavedFile file, int fd);
  int64_t BlockSize(int64_t block) const;
  Status FinishBlock(int64_t block, std::string_view bytes);

  const std::string path_;
  SavedFile file_;
  int fd_;
  std::map<int64_t, OpenBlock> open_;
  std::vector<std::vector<char>> free_;  // buffers of completed blocks
  int64_t blocks_done_ = 0;
};

// Reads a file at any offset. Thread-safe. Errors name the file and the offset.
class BlockFileReader {
 public:
  // Error when the file does not exist (NotFound) or does not have the size of `file` (DataLoss).
  // `path` is its name in errors.
  static StatusOr<std::unique_ptr<BlockFileReader>> Open(int directory, std::string path,
                                                         SavedFile file);
  ~BlockFileReader();
  BlockFileReader(const BlockFileReader&) = delete;
  BlockFileReader& operator=(const BlockFileReader&) = delete;

  const SavedFile& file() const { return file_; }
  const std::string& path() const { return path_; }

  // Reads a block and compares its checksum. `buffer` is scratch memory. DataLoss when they differ.
  Status Verify(int64_t block, std::vector<char>* buffer) const;

  // Fills `out` with the bytes from `offset` on. REQUIRES: the range is inside the file.
  Status Read(int64_t offset, std::span<char> out) const;

 private:
  BlockFileReader(std::string path, SavedFile file, int fd);

  const std::string path_;
  const SavedFile file_;
  const int fd_;
};

}  // namespace flotilla
