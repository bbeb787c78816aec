// The contract of a parser: one line of text becomes one row of a batch. Datasets call it on worker
// threads with lines that a LineReader cut; it knows nothing of files, epochs or batch sizes.
//
// A new format is one file pair with a class that derives from Parser and a static Make(inputs,
// options), beside it the test; criteo_parser.h is the example.
#pragma once

#include <span>
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

  // Appends the row that `line` (without its line end) holds to every field of `batch` and counts
  // it in batch->rows. On an error, made with BadRow(), the batch is as it was.
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

}  // namespace flotilla
