#include "flotilla/dataset/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace flotilla {
namespace {

constexpr size_t kHeaderBytes = 4096;

// [begin, end) is a line with its '\n'.
std::string_view WithoutLineEnd(const char* begin, const char* end) {
  --end;
  if (end > begin && end[-1] == '\r') --end;
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

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
  *line = WithoutLineEnd(begin, end + 1);
  too_long_ = next_too_long_ < lines_.too_long.size() &&
              lines_.too_long[next_too_long_] == static_cast<size_t>(begin - lines_.text.data());
  if (too_long_) ++next_too_long_;
  return true;
}

LineReader::LineReader(std::vector<FileSlice> files, const LineReaderOptions& options)
    : files_(std::move(files)),
      options_(options),
      buffer_(std::max(options.buffer_bytes, kByteOrderMark.size())) {}

void LineReader::Rewind() {
  file_.reset();
  file_index_ = -1;
  begin_ = end_ = scanned_ = 0;
  in_long_line_ = false;
  error_ = absl::OkStatus();
}

LinePosition LineReader::position() const {
  if (!error_.ok()) return failed_at_;
  if (file_ == nullptr && begin_ == end_) return {.file = file_index_ + 1};
  return {.file = file_index_, .line = next_line_, .offset = offset_};
}

Status LineReader::Seek(const LinePosition& position) {
  Rewind();
  failed_at_ = position;
  if (position.file < 0 || position.file > static_cast<int64_t>(files_.size())) {
    return error_ = InvalidArgument("cannot resume in file {} of {}", position.file, files_.size());
  }
  file_index_ = static_cast<int>(position.file) - 1;
  if (position.offset == 0 || position.file == static_cast<int64_t>(files_.size())) {
    return absl::OkStatus();
  }
  return error_ = SeekInFile(position);
}

Status LineReader::SeekInFile(const LinePosition& position) {
  if (options_.header_lines > 0) return SeekBehindHeader(position);
  ++file_index_;
  FL_ASSIGN_OR_RETURN(file_, OpenSource(files_[file_index_].path, options_.source));
  next_line_ = position.line;
  offset_ = position.offset;
  return file_->Skip(position.offset);
}

Status LineReader::SeekBehindHeader(const LinePosition& position) {
  // The parser learns the order of the columns from the header, so it is read again.
  FL_RETURN_IF_ERROR(OpenNext().status());
  FL_RETURN_IF_ERROR(PassHeader());
  if (position.offset < offset_) {
    return InvalidArgument("{}: cannot resume at byte {}, before the first row",
                           files_[file_index_].path, position.offset);
  }
  next_line_ = position.line;
  return SkipTo(position.offset);
}

Status LineReader::PassHeader() {
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool at_rows, SkipHeader());
    if (at_rows || file_ == nullptr) return absl::OkStatus();
    FL_RETURN_IF_ERROR(Fill().status());
  }
}

Status LineReader::SkipTo(int64_t offset) {
  const auto buffered = std::min(offset - offset_, static_cast<int64_t>(end_ - begin_));
  Consume(static_cast<size_t>(buffered));
  const int64_t rest = offset - offset_;
  offset_ = offset;
  if (rest == 0) return absl::OkStatus();
  if (file_ == nullptr) {
    return InvalidArgument("{}: the file ends before byte {}", files_[file_index_].path, offset);
  }
  return file_->Skip(rest);
}

Status LineReader::SkipToSlice() {
  FL_RETURN_IF_ERROR(PassHeader());
  const FileSlice& slice = files_[file_index_];
  // A byte-order mark is part of the first line here. A header that ends in the slice is not.
  if (offset_ < slice.begin || options_.header_lines == 0) {
    // The line of the byte before the slice belongs to the slice in which it begins.
    FL_RETURN_IF_ERROR(SkipTo(std::max(offset_, slice.begin - 1)));
    while (true) {
      const char* const first = buffer_.data() + begin_;
      const auto* newline = static_cast<const char*>(std::memchr(first, '\n', end_ - begin_));
      Consume(newline == nullptr ? end_ - begin_ : newline + 1 - first);
      if (newline != nullptr || file_ == nullptr) break;
      FL_RETURN_IF_ERROR(Fill().status());
    }
  }
  next_line_ = options_.header_lines + 1;
  scanned_ = 0;
  if (offset_ < slice.end) return absl::OkStatus();
  begin_ = end_ = 0;
  file_.reset();
  return absl::OkStatus();
}

Status LineReader::EndSlice(size_t fresh) {
  const int64_t last = files_[file_index_].end - 1;
  if (file_ == nullptr || offset_ + static_cast<int64_t>(end_ - begin_) <= last) {
    return absl::OkStatus();
  }
  const size_t from =
      std::max(end_ - fresh, begin_ + static_cast<size_t>(std::max<int64_t>(0, last - offset_)));
  const char* const first = buffer_.data() + from;
  const auto* newline = static_cast<const char*>(std::memchr(first, '\n', end_ - from));
  if (newline == nullptr) return absl::OkStatus();
  end_ = newline + 1 - buffer_.data();
  FL_RETURN_IF_ERROR(file_->CheckUnchanged());
  file_.reset();
  return absl::OkStatus();
}

StatusOr<bool> LineReader::OpenNext() {
  if (file_index_ + 1 >= static_cast<int>(files_.size())) return false;
  ++file_index_;
  FL_ASSIGN_OR_RETURN(file_, OpenSource(files_[file_index_].path, options_.source));
  next_line_ = 1;
  offset_ = 0;
  begin_ = end_ = scanned_ = 0;
  // Of a file that is read from the middle, only the header is used of its beginning.
  const size_t room =
      files_[file_index_].begin == 0 ? buffer_.size() : std::min(kHeaderBytes, buffer_.size());
  while (end_ < kByteOrderMark.size()) {
    FL_ASSIGN_OR_RETURN(const size_t got,
                        file_->Read(std::span(buffer_).subspan(end_, room - end_)));
    if (got == 0) break;
    end_ += got;
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) {
    Consume(kByteOrderMark.size());
  }
  FL_RETURN_IF_ERROR(EndSlice(end_ - begin_));
  if (files_[file_index_].begin > 0) FL_RETURN_IF_ERROR(SkipToSlice());
  return true;
}

void LineReader::Consume(size_t bytes) {
  begin_ += bytes;
  offset_ += static_cast<int64_t>(bytes);
}

StatusOr<bool> LineReader::SkipHeader() {
  while (next_line_ <= options_.header_lines) {
    const char* const first = buffer_.data() + begin_;
    const void* newline = std::memchr(first, '\n', end_ - begin_);
    if (newline == nullptr && end_ - begin_ > options_.max_line_bytes) {
      return InvalidArgument("{}:{}: the header line is longer than {} bytes",
                             files_[file_index_].path, next_line_, options_.max_line_bytes);
    }
    if (newline == nullptr) return false;
    const char* const stop = static_cast<const char*>(newline) + 1;
    if (options_.check_header) {
      const Status status = options_.check_header(WithoutLineEnd(first, stop));
      if (!status.ok()) {
        return InvalidArgument("{}:{}:{}", files_[file_index_].path, next_line_, Message(status));
      }
    }
    Consume(stop - first);
    ++next_line_;
  }
  return true;
}

StatusOr<bool> LineReader::Fill() {
  if (file_ == nullptr) return OpenNext();
  std::move(buffer_.data() + begin_, buffer_.data() + end_, buffer_.data());
  end_ -= begin_;
  begin_ = 0;
  // Makes room for more bytes and for the line end that the last line of a file may lack.
  if (end_ + 1 >= buffer_.size()) buffer_.resize(2 * buffer_.size() + 2);
  FL_ASSIGN_OR_RETURN(const size_t got,
                      file_->Read(std::span(buffer_).subspan(end_, buffer_.size() - 1 - end_)));
  if (got == 0) {
    if (offset_ == 0 && end_ == 0 && options_.log && !options_.source.pipe_command.empty()) {
      options_.log(fmt::format("{}: command `{}` wrote nothing", files_[file_index_].path,
                               options_.source.pipe_command));
    }
    file_.reset();
    if (end_ > begin_ || in_long_line_) buffer_[end_++] = '\n';
    return true;
  }
  end_ += got;
  FL_RETURN_IF_ERROR(EndSlice(got));
  return true;
}

void LineReader::BeginPart(TextLines* lines) const {
  if (lines->parts.empty() || lines->parts.back().file != file_index_) {
    lines->parts.push_back({lines->text.size(), file_index_, next_line_});
  }
}

int64_t LineReader::TakeRun(int64_t count, TextLines* lines, bool* too_long) {
  const char* const first = buffer_.data() + begin_;
  const char* const last = buffer_.data() + end_;
  const char* stop = first;  // after the last whole line found
  const char* from = first + scanned_;
  int64_t taken = 0;
  *too_long = false;
  while (taken < count && from < last) {
    const auto* newline = static_cast<const char*>(std::memchr(from, '\n', last - from));
    const size_t bytes = (newline == nullptr ? last : newline) - stop;
    if (bytes > options_.max_line_bytes) *too_long = true;
    if (newline == nullptr || *too_long) break;
    from = stop = newline + 1;
    ++taken;
  }
  if (taken > 0) {
    BeginPart(lines);
    lines->text.append(first, stop - first);
    Consume(stop - first);
    next_line_ += taken;
  }
  scanned_ = taken < count && !*too_long ? end_ - begin_ : 0;
  return taken;
}

bool LineReader::DropLongLine(TextLines* lines) {
  const char* const first = buffer_.data() + begin_;
  const auto* newline = static_cast<const char*>(std::memchr(first, '\n', end_ - begin_));
  in_long_line_ = newline == nullptr;
  Consume(in_long_line_ ? end_ - begin_ : newline + 1 - first);
  if (in_long_line_) return false;
  BeginPart(lines);
  lines->too_long.push_back(lines->text.size());
  lines->text += '\n';
  ++next_line_;
  return true;
}

int64_t LineReader::TakeBuffered(int64_t count, TextLines* lines) {
  int64_t taken = 0;
  bool too_long = in_long_line_;
  while (taken < count) {
    if (!too_long) taken += TakeRun(count - taken, lines, &too_long);
    if (!too_long || !DropLongLine(lines)) return taken;
    ++taken;
    too_long = false;
  }
  return taken;
}

StatusOr<int64_t> LineReader::Take(int64_t count, TextLines* lines) {
  FL_RETURN_IF_ERROR(error_);
  const LinePosition begin = position();
  StatusOr<int64_t> taken = TakeLines(count, lines);
  if (!taken.ok()) {
    failed_at_ = begin;
    error_ = taken.status();
  }
  return taken;
}

StatusOr<int64_t> LineReader::TakeLines(int64_t count, TextLines* lines) {
  lines->clear();
  int64_t taken = 0;
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool at_rows, SkipHeader());
    if (at_rows) taken += TakeBuffered(count - taken, lines);
    if (taken == count) return taken;
    FL_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) return taken;
  }
}

}  // namespace flotilla
