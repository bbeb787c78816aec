// How the lines that a parser is given are read: what a reader must know of the parser.
#pragma once

#include <string_view>
#include <utility>

#include "flotilla/base/log_line.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

// `options` with the parser's headings and with `log`. REQUIRES: the parser outlives the reader.
inline LineReaderOptions ReaderOptionsFor(const Parser& parser, LineReaderOptions options,
                                          LogLine log) {
  options.log = std::move(log);
  options.header_lines = parser.header_lines();
  options.check_header = [&parser](std::string_view line) { return parser.CheckHeader(line); };
  return options;
}

}  // namespace flotilla
