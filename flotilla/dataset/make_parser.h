// The table of formats: creates a parser from the name of its format and textual parameters, as
// given on a command line or in a configuration. A new format is one line in make_parser.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/parser.h"
#include "flotilla/schema/fitted_schema.h"

namespace flotilla {

struct ParserSpec {
  std::string format;                         // one of ParserFormats(), e.g. "criteo"
  std::map<std::string, std::string> params;  // e.g. {"hash_dim", "1000001"}
  // The shell command whose output contains the lines; empty: no command, the files contain the
  // lines; not set: unknown. Informational only: MakeParser ignores it and nothing runs it.
  std::optional<std::string> pipe_command = std::nullopt;

  bool operator==(const ParserSpec&) const = default;
};

// Description of a format for help texts.
struct ParserFormat {
  struct Param {
    std::string_view name;
    std::string_view help;
    std::string_view otherwise = {};  // the default value; empty: no default
  };
  std::string_view name;
  std::string_view help;  // one line: what a line of text looks like
  std::vector<Param> params;
};

// All formats, in alphabetical order.
std::vector<ParserFormat> ParserFormats();

// Ok, or the error of MakeParser about a format or a parameter that is not known, with the nearest
// known name.
Status CheckFormat(const ParserSpec& spec);

// Creates a parser that fills the model's inputs. InvalidArgument when the format or a parameter is
// unknown (the message lists the known ones), a value is invalid for its parameter, or the inputs
// do not fit the format. Reads a file only when a parameter names one (csv: schema_file, criteo:
// statistics_file).
StatusOr<std::unique_ptr<Parser>> MakeParser(const ParserSpec& spec,
                                             std::span<const InputSpec> inputs);

// Returns the spec with the defaults of all parameters that were not given. The spec of an unknown
// format is returned unchanged.
ParserSpec WithDefaults(ParserSpec spec);

// The items of a parameter that is a list, separated by commas or blanks.
std::vector<std::string> ItemsOfParam(std::string_view text);

// The spec of CSV rows with this schema and its statistics, as text: it needs no file.
ParserSpec SpecOf(const FittedSchema& schema);

// The schema of a csv or tsv spec, without its statistics. The errors of MakeParser.
StatusOr<Schema> SchemaTextOfSpec(const ParserSpec& spec);

// The schema of a csv or tsv spec, with its statistics. The errors of MakeParser.
StatusOr<FittedSchema> SchemaOfSpec(const ParserSpec& spec);

// The inputs that the rows of a format fill, if the format itself defines them: criteo, and csv and
// tsv through their schema. InvalidArgument for the other formats, and for the errors of
// MakeParser.
StatusOr<std::vector<InputSpec>> InputsOfFormat(const ParserSpec& spec);

}  // namespace flotilla
