// Text files as a sequence of blocks that end between words, so that many threads can work on one
// file, and on one line. Where a block ends depends on the text alone: what is made of the blocks
// and put together in their order does not depend on the number of threads.
//
// It reads bytes and knows lines and blanks only; tokenizer.h finds the words.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/source.h"

namespace flotilla {

struct TextBlock {
  int64_t ordinal = 0;  // 0, 1, ..
  int file = 0;         // of the list
  int64_t line = 1;     // number of the first line in the file, from 1
  // Ends behind a line feed, or, within a line that does not fit, behind a space, or with the file.
  std::string text;
  // No line goes on in the next block. False only in the middle of a line that does not fit.
  bool ends_line = true;
};

struct TextBlocksOptions {
  size_t block_bytes = size_t{1} << 20;
  // A word that is longer, counted with what a tokenizer deletes from it, is cut.
  size_t max_word_bytes = size_t{2} << 20;
  SourceOptions source;
};

// Thread-safe but for Rewind. A UTF-8 byte-order mark at the start of a file is not part of it.
class TextBlocks {
 public:
  explicit TextBlocks(std::vector<std::string> files, const TextBlocksOptions& options = {});

  // The next block, its memory reused; false at the end. After an error every call returns it.
  StatusOr<bool> Next(TextBlock* block);

  // Starts again at the first file.
  void Rewind();

  // Of text, in blocks that were handed out.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  const std::vector<std::string>& files() const { return files_; }

 private:
  StatusOr<bool> Fill(TextBlock* block);
  // Reads up to `bytes` more; false at the end of the file.
  StatusOr<bool> Append(size_t bytes, std::string* text);
  Status OpenNext();

  const std::vector<std::string> files_;
  const TextBlocksOptions options_;

  std::atomic<int64_t> bytes_ = 0;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::unique_ptr<ByteStream> file_;  // null before the first, between and after files
  int file_index_ = -1;
  int64_t next_ordinal_ = 0;
  int64_t next_line_ = 1;
  std::string rest_;  // read, and for the next block
  Status error_;
};

}  // namespace flotilla
