// Splits text files into a sequence of blocks that end between words, so that many threads can work
// on one file, and even on one line. Block boundaries depend on the text alone: results computed
// per block and combined in order do not depend on the number of threads.
//
// It handles bytes, lines and blanks only; tokenizer.h finds the words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/source.h"

namespace flotilla {

struct TextBlock {
  int64_t ordinal = 0;  // 0, 1, ..
  int file = 0;         // index in the list of files
  int64_t line = 1;     // number of the first line in the file, from 1
  // Ends after a line feed, or after a space within a line that does not fit, or at the end of the
  // file.
  std::string text;
  // The last line ends with this block. False only in the middle of a line that does not fit.
  bool ends_line = true;
};

struct TextBlocksOptions {
  size_t block_bytes = size_t{1} << 20;
  // A longer word is cut; the characters that a tokenizer deletes count towards its length.
  size_t max_word_bytes = size_t{2} << 20;
  SourceOptions source;
};

// Thread-safe except for Rewind. A UTF-8 byte-order mark at the start of a file is not part of it.
class TextBlocks {
 public:
  explicit TextBlocks(std::vector<std::string> files, const TextBlocksOptions& options = {});

  // Returns the next block, reusing the memory of *block; false at the end. After an error every
  // call returns that error.
  StatusOr<bool> Next(TextBlock* block);

  // Restarts at the first file.
  void Rewind();

  // Bytes of text in the blocks returned so far.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const std::vector<std::string>& files() const { return files_; }

 private:
  StatusOr<bool> Fill(TextBlock* block) FL_REQUIRES(mutex_);
  // Reads up to `bytes` more; false at the end of the file.
  StatusOr<bool> Append(size_t bytes, std::string* text) FL_REQUIRES(mutex_);
  Status OpenNext() FL_REQUIRES(mutex_);

  const std::vector<std::string> files_;
  const TextBlocksOptions options_;

  std::atomic<int64_t> bytes_ = 0;
  Mutex mutex_;
  // Null before the first, between and after files.
  std::unique_ptr<ByteStream> file_ FL_GUARDED_BY(mutex_);
  int file_index_ FL_GUARDED_BY(mutex_) = -1;
  int64_t next_ordinal_ FL_GUARDED_BY(mutex_) = 0;
  int64_t next_line_ FL_GUARDED_BY(mutex_) = 1;
  std::string rest_ FL_GUARDED_BY(mutex_);  // already read, belongs to the next block
  Status error_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
