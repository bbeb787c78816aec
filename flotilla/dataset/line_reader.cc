#include "flotilla/dataset/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flotilla {

bool LineCursor::Next(std::string_view* line) {
  if (offset_ == lines_.text.size()) return false;
  if (line_ == 0) {
    line_ = lines_.parts[0].line;
  } else if (part_ + 1 < lines_.parts.size() && lines_.parts[part_ + 1].begin == offset_) {
    line_ = lines_.parts[++part_].line;
  } else {
    ++line_;
  }
  const char* begin = lines_.text.data() + offset_;
  const char* end =
      static_cast<const char*>(std::memchr(begin, '\n', lines_.text.size() - offset_));
  offset_ = end + 1 - lines_.text.data();
  if (end > begin && end[-1] == '\r') --end;
  *line = std::string_view(begin, end - begin);
  return true;
}

LineReader::LineReader(std::vector<std::string> files, const LineReaderOptions& options)
    : files_(std::move(files)), options_(options), buffer_(options.buffer_bytes) {}

void LineReader::Rewind() {
  file_.reset();
  file_index_ = -1;
  begin_ = end_ = scanned_ = 0;
  error_ = absl::OkStatus();
}

StatusOr<bool> LineReader::OpenNext() {
  if (file_index_ + 1 >= static_cast<int>(files_.size())) return false;
  ++file_index_;
  FL_ASSIGN_OR_RETURN(file_, TextFile::Open(files_[file_index_]));
  next_line_ = 1;
  return true;
}

StatusOr<bool> LineReader::Fill() {
  if (file_ == nullptr) return OpenNext();
  if (end_ - begin_ > options_.max_line_bytes) {
    return InvalidArgument("{}:{}: the line is longer than {} bytes", files_[file_index_],
                           next_line_, options_.max_line_bytes);
  }
  std::move(buffer_.data() + begin_, buffer_.data() + end_, buffer_.data());
  end_ -= begin_;
  begin_ = 0;
  // Room for more bytes and for the line end that a file's last line may lack.
  if (end_ + 1 >= buffer_.size()) buffer_.resize(2 * buffer_.size() + 2);
  FL_ASSIGN_OR_RETURN(const size_t got,
                      file_->Read(std::span(buffer_).subspan(end_, buffer_.size() - 1 - end_)));
  if (got == 0) {
    file_.reset();
    if (end_ > begin_) buffer_[end_++] = '\n';
  }
  end_ += got;
  return true;
}

int64_t LineReader::TakeBuffered(int64_t count, TextLines* lines) {
  const char* const first = buffer_.data() + begin_;
  const char* const last = buffer_.data() + end_;
  const char* stop = first;  // after the last whole line found
  const char* from = first + scanned_;
  int64_t taken = 0;
  while (taken < count && from < last) {
    const void* newline = std::memchr(from, '\n', last - from);
    if (newline == nullptr) break;
    from = stop = static_cast<const char*>(newline) + 1;
    ++taken;
  }
  if (taken > 0) {
    if (lines->parts.empty() || lines->parts.back().file != file_index_) {
      lines->parts.push_back({lines->text.size(), file_index_, next_line_});
    }
    lines->text.append(first, stop - first);
    begin_ += stop - first;
    next_line_ += taken;
  }
  scanned_ = taken < count ? end_ - begin_ : 0;
  return taken;
}

StatusOr<int64_t> LineReader::Take(int64_t count, TextLines* lines) {
  FL_RETURN_IF_ERROR(error_);
  lines->text.clear();
  lines->parts.clear();
  int64_t taken = 0;
  while (true) {
    taken += TakeBuffered(count - taken, lines);
    if (taken == count) return taken;
    StatusOr<bool> more = Fill();
    if (!more.ok()) return error_ = more.status();
    if (!*more) return taken;
  }
}

}  // namespace flotilla
