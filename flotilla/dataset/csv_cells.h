// Splits a line of CSV or TSV into its fields. Quoted fields follow RFC 4180 but must end on the
// same line. It knows nothing of what the fields mean.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/schema/schema.h"

namespace flotilla {

// How fields are separated.
struct CsvForm {
  char delimiter = ',';
  bool quotes = true;
  bool trim = false;

  explicit CsvForm(const Schema& schema)
      : delimiter(schema.delimiter), quotes(schema.quotes), trim(schema.trim) {}
  CsvForm(char character, bool quoted, bool trimmed)
      : delimiter(character), quotes(quoted), trim(trimmed) {}
};

// The fields of one line at a time; reuses its memory. Not thread-safe.
class CsvCells {
 public:
  // Splits the line into at most `most` fields. BadRow (parser.h) when the quoting of one of them
  // is malformed. The fields are valid until the next call and while `line` is.
  Status Split(std::string_view line, const CsvForm& form, size_t most);

  size_t size() const { return texts_.size(); }
  // Without quotes and, with `trim`, the blanks around it.
  std::string_view text(size_t i) const { return texts_[i]; }
  std::span<const std::string_view> texts() const { return texts_; }
  // Offset in the line of the first byte of field i.
  size_t begin(size_t i) const { return begins_[i]; }
  // Whether the line has more fields than were asked for, and where they begin.
  bool has_more() const { return has_more_; }
  size_t rest() const { return rest_; }

 private:
  bool SplitPlain(std::string_view line, const CsvForm& form, size_t most);
  Status SplitQuoted(std::string_view line, const CsvForm& form, size_t most);
  Status AddQuoted(std::string_view line, const CsvForm& form, size_t open, size_t* end);
  void Add(std::string_view line, size_t begin, size_t end, bool trim);

  std::vector<std::string_view> texts_;
  std::vector<size_t> begins_;
  std::vector<uint32_t> positions_;
  std::deque<std::string> unescaped_;  // only fields with embedded quotes are copied
  bool has_more_ = false;
  size_t rest_ = 0;
};

}  // namespace flotilla
