// The contract of a parser: one line of text becomes one row of a batch. Datasets call it on worker
// threads with lines that a LineReader cut; it knows nothing of files, epochs or batch sizes.
//
// A new format is one file pair with a class that derives from Parser and a static Make(inputs,
// options), beside it the test, and one line in the table of make_parser.cc; corpus_parser.h is the
// smallest example.
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

  // What rows come out of a text, as one line: the format, a version that changes whenever the same
  // line would give other values, and every option ("criteo/2 numeric=seeds hash_dim=1000001").
  // Two parsers with the same identity and the same inputs give the same rows, so parsed data may
  // be kept under it.
  virtual std::string identity() const = 0;

  // How many lines at the start of every file (or of a pipe's output) are no rows but headings. The
  // reader gives them to CheckHeader, in order, instead of Parse; they count in line numbers and
  // not in rows. A byte-order mark before the first line is the reader's to take off.
  virtual int header_lines() const { return 0; }
  // An error, made with BadRow(), when heading `line` says that the file has other columns than the
  // parser was made for: it ends the run, whatever number of bad rows is allowed.
  virtual Status CheckHeader(std::string_view /*line*/) const { return absl::OkStatus(); }

  // Appends the row that `line` (without its line end) holds to every field of `batch` and counts
  // it in batch->rows. On an error, made with BadRow(), the batch is as it was. A format may have
  // lines that hold no row (blank ones, comments): ok, and the batch is as it was.
  //
  // For an id input a parser always does the same of two things: append one id per row and leave
  // the offsets empty, or keep the offsets (0 before the first row, then the end of each row).
  // REQUIRES: batch->fields.size() == inputs().size().
  virtual Status Parse(std::string_view line, Batch* batch) const = 0;
};

// The error of a parser: InvalidArgument with the message "<column>: <what was expected, what was
// found>", where `column` counts bytes of the line from 1, so that the caller's prefix
// "<file>:<line>:" makes it file:line:column.
template <typename... Args>
Status BadRow(size_t column, fmt::format_string<Args...> format, Args&&... args) {
  return InvalidArgument("{}: {}", column, fmt::format(format, std::forward<Args>(args)...));
}

// The error of a line that a reader did not keep because it is longer than `limit` bytes.
inline Status LineTooLong(size_t limit) {
  return BadRow(limit + 1, "expected the end of the line, it is longer than {} bytes", limit);
}

}  // namespace flotilla
