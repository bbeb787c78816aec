#include "flotilla/dataset/text_blocks.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace flotilla {
namespace {

// Position after the last of these characters, 0 if there is none.
size_t BehindLast(const std::string& text, char c) {
  const size_t at = text.rfind(c);
  return at == std::string::npos ? 0 : at + 1;
}

}  // namespace

TextBlocks::TextBlocks(std::vector<std::string> files, const TextBlocksOptions& options)
    : files_(std::move(files)), options_(options) {}

void TextBlocks::Rewind() {
  MutexLock lock(mutex_);
  file_.reset();
  file_index_ = -1;
  next_ordinal_ = 0;
  next_line_ = 1;
  rest_.clear();
  error_ = absl::OkStatus();
  bytes_ = 0;
}

StatusOr<bool> TextBlocks::Next(TextBlock* block) {
  MutexLock lock(mutex_);
  if (!error_.ok()) return error_;
  StatusOr<bool> filled = Fill(block);
  if (!filled.ok()) error_ = filled.status();
  if (filled.ok() && *filled) bytes_ += static_cast<int64_t>(block->text.size());
  return filled;
}

Status TextBlocks::OpenNext() {
  FL_ASSIGN_OR_RETURN(file_, OpenSource(files_[++file_index_], options_.source));
  FL_RETURN_IF_ERROR(Append(kByteOrderMark.size(), &rest_).status());
  if (rest_.starts_with(kByteOrderMark)) rest_.clear();
  return absl::OkStatus();
}

StatusOr<bool> TextBlocks::Append(size_t bytes, std::string* text) {
  const size_t before = text->size();
  text->resize(before + bytes);
  size_t done = 0;
  while (done < bytes) {
    FL_ASSIGN_OR_RETURN(const size_t n, file_->Read({text->data() + before + done, bytes - done}));
    if (n == 0) break;
    done += n;
  }
  text->resize(before + done);
  return done == bytes;
}

StatusOr<bool> TextBlocks::Fill(TextBlock* block) {
  std::string& text = block->text;
  text.clear();
  while (text.empty()) {
    if (file_ == nullptr) {
      if (file_index_ + 1 >= static_cast<int>(files_.size())) return false;
      FL_RETURN_IF_ERROR(OpenNext());
    }
    std::swap(text, rest_);
    rest_.clear();
    bool more = true;
    size_t end = 0;
    while (more && end == 0 && text.size() < options_.max_word_bytes) {
      const size_t want = std::max(options_.block_bytes, 2 * text.size());
      FL_ASSIGN_OR_RETURN(more, Append(want - text.size(), &text));
      end = BehindLast(text, '\n');
      block->ends_line = end > 0;
      if (end == 0) end = BehindLast(text, ' ');
    }
    if (!more) {
      end = text.size();
      block->ends_line = true;
      file_.reset();
    }
    if (end == 0) end = text.size();
    rest_.assign(text, end);
    text.resize(end);
  }
  block->file = file_index_;
  block->ordinal = next_ordinal_++;
  block->line = next_line_;
  next_line_ = file_ == nullptr ? 1 : next_line_ + std::count(text.begin(), text.end(), '\n');
  return true;
}

}  // namespace flotilla
