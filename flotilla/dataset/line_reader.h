// Cuts the text of a list of files into pieces of whole lines, in order: the front of every text
// dataset. Workers parse the pieces; the reader itself looks only for line ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/base/text_file.h"

namespace flotilla {

// Some consecutive lines of the file list, with where they stand.
// Invariants: every line in `text` ends with '\n', also the last of a file that has none there;
// parts are ascending in `begin`, parts[0].begin == 0 unless there are no lines.
struct TextLines {
  struct Part {
    size_t begin;  // offset in `text` of the part's first line
    int file;      // index in the list of files
    int64_t line;  // number of that line in the file, from 1
  };
  std::string text;
  std::vector<Part> parts;  // one per file that the lines come from
};

// Walks over the lines of a TextLines, which must outlive it.
class LineCursor {
 public:
  explicit LineCursor(const TextLines& lines) : lines_(lines) {}

  // The next line without its line end ("\n" or "\r\n"); false at the end.
  bool Next(std::string_view* line);
  // Where the line that Next() gave last stands.
  int file() const { return lines_.parts[part_].file; }
  int64_t line_number() const { return line_; }

 private:
  const TextLines& lines_;
  size_t offset_ = 0;
  size_t part_ = 0;
  int64_t line_ = 0;
};

struct LineReaderOptions {
  size_t buffer_bytes = 1 << 20;
  // A longer line is an error: it is no text file, and memory has an end.
  size_t max_line_bytes = 16 << 20;
};

// Not thread-safe. After an error every further call returns the same error.
class LineReader {
 public:
  explicit LineReader(std::vector<std::string> files, const LineReaderOptions& options = {});

  // Replaces `lines` with the next `count` lines, fewer only when the files end; returns how many.
  // Reuses the memory of `lines`.
  StatusOr<int64_t> Take(int64_t count, TextLines* lines);

  // Starts again at the first line of the first file and forgets an error.
  void Rewind();

  const std::vector<std::string>& files() const { return files_; }

 private:
  // Makes buffer_[begin_, end_) longer, or moves on to the next file; false when the files end.
  StatusOr<bool> Fill();
  StatusOr<bool> OpenNext();
  // Moves up to `count` lines from the buffer to `lines`; returns how many.
  int64_t TakeBuffered(int64_t count, TextLines* lines);

  // Constant after construction.
  const std::vector<std::string> files_;
  const LineReaderOptions options_;

  std::unique_ptr<TextFile> file_;  // null before the first, between and after files
  int file_index_ = -1;             // of file_, or of the last one opened
  int64_t next_line_ = 1;           // number of the line that starts at begin_
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // the unread bytes in buffer_
  size_t scanned_ = 0;          // bytes from begin_ on that are known to hold no line end
  Status error_;
};

}  // namespace flotilla
