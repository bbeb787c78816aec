// Serializes the description of how a model's rows were parsed, so that a saved model can read its
// data without further options, and rows that were parsed differently are detected: {"format":
// name, "params": {name: text}, "pipe_command": text}.
#pragma once

#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/dataset/make_parser.h"

namespace flotilla {

// A spec without a format name means "unknown" and is restored as such. Parameters that were not
// given are written with their defaults, pipe_command only if it is set. A file that a parameter
// names (csv: schema_file, criteo: statistics_file) is read and its content stored instead, so that
// the text is self-contained. Errors: the file cannot be read, texts that are not UTF-8.
StatusOr<std::string> ParserSpecToJson(const ParserSpec& spec);

// Errors name the location in the text. Whether the format exists is checked only when a parser is
// created (MakeParser). Never aborts, for any text.
StatusOr<ParserSpec> ParserSpecFromJson(std::string_view text);

}  // namespace flotilla
