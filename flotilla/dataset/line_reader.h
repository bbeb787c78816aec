// Splits the text of a list of files into pieces of whole lines, in order: the first stage of every
// text dataset. Workers parse the pieces; the reader itself only looks for line ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/file_slice.h"
#include "flotilla/dataset/source.h"

namespace flotilla {

// Some consecutive lines of the file list, with their locations.
// Invariants: every line in `text` ends with '\n', even the last line of a file that lacks it;
// parts are ascending in `begin`, parts[0].begin == 0 unless there are no lines.
struct TextLines {
  struct Part {
    size_t begin;  // offset in `text` of the part's first line
    int file;      // index in the list of files
    // Number of that line in the file, from 1. In a slice that begins later, the first line has the
    // number that it would have behind the header.
    int64_t line;
  };
  std::string text;
  std::vector<Part> parts;  // one per file that the lines come from
  // Offsets of the empty lines in `text` that replace lines longer than the reader allows;
  // ascending.
  std::vector<size_t> too_long;

  void clear() {
    text.clear();
    parts.clear();
    too_long.clear();
  }
};

// Iterates over the lines of a TextLines, which must outlive it.
class LineCursor {
 public:
  explicit LineCursor(const TextLines& lines) : lines_(lines) {}

  // Returns the next line without its line end ("\n" or "\r\n") in *line; false at the end.
  bool Next(std::string_view* line);
  // Location of the line that Next() returned last.
  int file() const { return lines_.parts[part_].file; }
  int64_t line_number() const { return line_; }
  // Whether that line was too long to be kept; it is empty in that case.
  bool too_long() const { return too_long_; }

 private:
  const TextLines& lines_;
  size_t offset_ = 0;
  size_t part_ = 0;
  size_t next_too_long_ = 0;
  int64_t line_ = 0;
  bool too_long_ = false;
};

// A position between two lines of the file list.
struct LinePosition {
  int64_t file = 0;    // at the end: the number of files
  int64_t line = 1;    // number of the next line, as in TextLines::Part
  int64_t offset = 0;  // offset of that line in the file's text, in bytes

  bool operator==(const LinePosition&) const = default;
};

struct LineReaderOptions {
  size_t buffer_bytes = 1 << 20;
  // A longer line is dropped to bound memory; it counts as a line and is marked.
  size_t max_line_bytes = 16 << 20;
  // Number of header lines at the start of every file: they count in line numbers but are not
  // returned. Each is passed to `check_header`, unless that is empty; its error, prefixed with file
  // and line, ends the reading.
  int header_lines = 0;
  std::function<Status(std::string_view line)> check_header;
  SourceOptions source;
  // Called with messages for the user that are not errors: a pipe command that wrote nothing for a
  // file.
  std::function<void(std::string_view line)> log;
};

// A UTF-8 byte-order mark at the start of a file is not part of its first line.
//
// Not thread-safe. After an error every further call returns the same error.
class LineReader {
 public:
  // Files that are not whole must be plain (IsSliceable), without a pipe command.
  explicit LineReader(std::vector<FileSlice> files, const LineReaderOptions& options = {});
  explicit LineReader(const std::vector<std::string>& files, const LineReaderOptions& options = {})
      : LineReader(WholeFiles(files), options) {}

  // Replaces `lines` with the next `count` lines, fewer only when the files end; returns how many.
  // Reuses the memory of `lines`.
  StatusOr<int64_t> Take(int64_t count, TextLines* lines);

  // Restarts at the first line of the first file and clears an error.
  void Rewind();
  // Where the next Take begins; after an error, where the Take that failed began.
  LinePosition position() const;
  // Continues at a position taken from a reader of the same files: seeks in plain files, reads up
  // to the position in others. Returns an error, which is sticky, when the file ends before the
  // position.
  Status Seek(const LinePosition& position);

  const std::vector<FileSlice>& files() const { return files_; }

 private:
  StatusOr<int64_t> TakeLines(int64_t count, TextLines* lines);
  // Extends buffer_[begin_, end_), or moves on to the next file; false at the end of the last file.
  StatusOr<bool> Fill();
  // Opens the next file and strips its byte-order mark; false when there is no further file.
  StatusOr<bool> OpenNext();
  // Continues behind the header with the first line that begins in the slice.
  Status SkipToSlice();
  // Ends the file behind the line with the last byte of the slice, if that is among the last
  // `fresh` bytes of the buffer.
  Status EndSlice(size_t fresh);
  // Continues at this offset, which is not before offset_.
  Status SkipTo(int64_t offset);
  Status PassHeader();
  Status SeekInFile(const LinePosition& position);
  Status SeekBehindHeader(const LinePosition& position);
  // Checks and drops the header lines that are in the buffer; false when more of them are to come.
  StatusOr<bool> SkipHeader();
  // Moves up to `count` lines from the buffer to `lines`; returns how many.
  int64_t TakeBuffered(int64_t count, TextLines* lines);
  // Like TakeBuffered, but stops before a line that is too long and reports it in *too_long.
  int64_t TakeRun(int64_t count, TextLines* lines, bool* too_long);
  // Drops the bytes of a line that is too long; true when its end was among them, and the line is
  // marked in `lines`.
  bool DropLongLine(TextLines* lines);
  void Consume(size_t bytes);
  void BeginPart(TextLines* lines) const;

  // Constant after construction.
  const std::vector<FileSlice> files_;
  const LineReaderOptions options_;

  std::unique_ptr<ByteStream> file_;  // null before the first, between and after files
  int file_index_ = -1;               // index of file_, or of the last file opened
  int64_t next_line_ = 1;             // number of the line that starts at begin_
  int64_t offset_ = 0;                // offset of begin_ in the text of the file
  bool in_long_line_ = false;         // begin_ is inside a line that is too long
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // the unread bytes in buffer_
  size_t scanned_ = 0;          // bytes from begin_ on that are known to hold no line end
  Status error_;
  LinePosition failed_at_;  // position where the failed Take began
};

}  // namespace flotilla
