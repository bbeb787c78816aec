// How a model's rows were made, as text and back, so that a saved model reads its data without
// being told how, and rows that were made otherwise are noticed:
// {"format": name, "params": {name: text}, "pipe_command": text}.
#pragma once

#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/dataset/make_parser.h"

namespace flotilla {

// A spec without a name stands for "not known" and comes back so. Parameters that were not given
// are written with their defaults, pipe_command only where it is set. A file that a parameter names
// (csv: schema_file, criteo: statistics_file) is read and its content stored instead, so that the
// text needs nothing else. Errors: the file cannot be read, texts that are not UTF-8.
StatusOr<std::string> ParserSpecToJson(const ParserSpec& spec);

// Errors say where in the text. Whether there is such a format is found when a parser is made
// (MakeParser). Never aborts, whatever the text.
StatusOr<ParserSpec> ParserSpecFromJson(std::string_view text);

}  // namespace flotilla
