#include "flotilla/dataset/csv_cells.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "flotilla/base/scan_number.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/kernels/text.h"

namespace flotilla {

inline void CsvCells::Add(std::string_view line, size_t begin, size_t end, bool trim) {
  if (trim) {
    while (begin < end && IsBlank(line[begin])) ++begin;
    while (begin < end && IsBlank(line[end - 1])) --end;
  }
  texts_.push_back(line.substr(begin, end - begin));
  begins_.push_back(begin);
}

// Lines without quotes: all delimiters at once.
bool CsvCells::SplitPlain(std::string_view line, const CsvForm& form, size_t most) {
  if (line.size() > std::numeric_limits<uint32_t>::max()) return false;
  if (form.quotes && std::memchr(line.data(), '"', line.size()) != nullptr) return false;
  positions_.resize(most + kernels::kPositionSlack);
  const int64_t found =
      kernels::FindByte(line, form.delimiter, static_cast<int64_t>(most), positions_.data());
  if (found < 0) return false;
  size_t begin = 0;
  for (int64_t i = 0; i < found && texts_.size() < most; ++i) {
    Add(line, begin, positions_[i], form.trim);
    begin = positions_[i] + 1;
  }
  if (texts_.size() == most) {
    has_more_ = true;
    rest_ = begin;
  } else {
    Add(line, begin, line.size(), form.trim);
  }
  return true;
}

Status CsvCells::AddQuoted(std::string_view line, const CsvForm& form, size_t open, size_t* end) {
  std::string* copy = nullptr;
  size_t from = open + 1;
  size_t close = line.find('"', from);
  // Two consecutive quotes stand for one quote of the text.
  while (close != std::string_view::npos && close + 1 < line.size() && line[close + 1] == '"') {
    if (copy == nullptr) copy = &unescaped_.emplace_back();
    copy->append(line, from, close + 1 - from);
    from = close + 2;
    close = line.find('"', from);
  }
  if (close == std::string_view::npos) {
    return BadRow(open + 1, "the quote is not closed on its line; quotes=no reads quotes as text");
  }
  std::string_view text = line.substr(from, close - from);
  if (copy != nullptr) text = copy->append(text);
  texts_.push_back(text);
  begins_.push_back(open + 1);
  size_t at = close + 1;
  while (form.trim && at < line.size() && IsBlank(line[at]) && line[at] != form.delimiter) ++at;
  if (at < line.size() && line[at] != form.delimiter) {
    return BadRow(at + 1, "expected '{}' after the closing quote, found '{}'",
                  form.delimiter == '\t' ? std::string("\\t") : std::string(1, form.delimiter),
                  ShownText(line.data() + at, line.data() + line.size()));
  }
  *end = at;
  return absl::OkStatus();
}

Status CsvCells::SplitQuoted(std::string_view line, const CsvForm& form, size_t most) {
  size_t begin = 0;
  while (texts_.size() < most) {
    size_t at = begin;
    while (form.trim && at < line.size() && IsBlank(line[at]) && line[at] != form.delimiter) ++at;
    size_t end = 0;
    if (form.quotes && at < line.size() && line[at] == '"') {
      FL_RETURN_IF_ERROR(AddQuoted(line, form, at, &end));
    } else {
      end = std::min(line.find(form.delimiter, begin), line.size());
      Add(line, begin, end, form.trim);
    }
    if (end == line.size()) return absl::OkStatus();
    begin = end + 1;
  }
  has_more_ = true;
  rest_ = begin;
  return absl::OkStatus();
}

Status CsvCells::Split(std::string_view line, const CsvForm& form, size_t most) {
  texts_.clear();
  begins_.clear();
  if (!unescaped_.empty()) unescaped_.clear();
  has_more_ = false;
  rest_ = line.size();
  if (SplitPlain(line, form, most)) return absl::OkStatus();
  texts_.clear();
  begins_.clear();
  return SplitQuoted(line, form, most);
}

}  // namespace flotilla
