// Interface of a parser, which converts one line of text into one row of a batch. Datasets call it
// on worker threads with lines from a LineReader; it knows nothing of files, epochs or batch sizes.
//
// A new format is one file pair with a class that derives from Parser and a static Make(inputs,
// options), its test, and one line in the table of make_parser.cc; corpus_parser.h is the smallest
// example.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "flotilla/base/status.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// Constant after construction, so safe to use from any number of threads at once.
class Parser {
 public:
  virtual ~Parser() = default;

  // The inputs this parser fills, in the order of a batch's fields.
  virtual std::span<const InputSpec> inputs() const = 0;

  // Identifies, as one line, how text is converted to rows: the format, a version that changes
  // whenever the same line would yield other values, and every option ("criteo/2 numeric=seeds
  // hash_dim=1000001"). Two parsers with the same identity and the same inputs yield the same rows,
  // so parsed data may be cached under it.
  virtual std::string identity() const = 0;

  // Number of header lines at the start of every file (or of a pipe's output), which are not rows.
  // The reader passes them to CheckHeader, in order, instead of Parse; they count in line numbers
  // but not in rows. The reader removes a byte-order mark before the first line.
  virtual int header_lines() const { return 0; }
  // Returns an error, created with BadRow(), when header `line` shows that the file has other
  // columns than the parser expects: it ends the run, regardless of the allowed number of bad rows.
  virtual Status CheckHeader(std::string_view /*line*/) const { return absl::OkStatus(); }
  // A message for the user that is not an error and arose since the last call, such as columns that
  // are ignored or lists that were cut; empty: none. Readers ask for it after a header line, and
  // whoever reads rows into memory at the end.
  virtual std::string TakeNote() const { return {}; }

  // Appends the row in `line` (without its line end) to every field of `batch` and counts it in
  // batch->rows. On an error, created with BadRow(), the batch is unchanged. A format may have
  // lines without a row (blank ones, comments): they return ok and leave the batch unchanged.
  //
  // For a given id input a parser always either appends exactly one id per row and leaves the
  // offsets empty, or maintains the offsets (0 before the first row, then the end of each row).
  // REQUIRES: batch->fields.size() == inputs().size().
  virtual Status Parse(std::string_view line, Batch* batch) const = 0;
};

// The error of a parser: InvalidArgument with the message "<column>: <what was expected, what was
// found>", where `column` counts bytes of the line from 1, so that with the caller's prefix
// "<file>:<line>:" it reads file:line:column.
template <typename... Args>
Status BadRow(size_t column, fmt::format_string<Args...> format, Args&&... args) {
  return InvalidArgument("{}: {}", column, fmt::format(format, std::forward<Args>(args)...));
}

// The error for a line that a reader dropped because it is longer than `limit` bytes.
inline Status LineTooLong(size_t limit) {
  return BadRow(limit + 1, "expected the end of the line, it is longer than {} bytes", limit);
}

}  // namespace flotilla
