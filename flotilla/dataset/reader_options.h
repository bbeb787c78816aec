// Derives the options of a reader from the parser that its lines are for.
#pragma once

#include <string_view>
#include <utility>

#include "flotilla/base/log_line.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

// Returns `options` with the header lines of the parser and with `log`. REQUIRES: the parser
// outlives the reader.
inline LineReaderOptions ReaderOptionsFor(const Parser& parser, LineReaderOptions options,
                                          LogLine log) {
  options.log = std::move(log);
  options.header_lines = parser.header_lines();
  options.check_header = [&parser](std::string_view line) { return parser.CheckHeader(line); };
  return options;
}

}  // namespace flotilla
