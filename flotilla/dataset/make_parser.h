// The table of formats: makes a parser from the name of its format and parameters as text, as a
// command line or a configuration gives them. A new format is one line in make_parser.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/parser.h"

namespace flotilla {

struct ParserSpec {
  std::string format;                         // one of ParserFormats(), e.g. "criteo"
  std::map<std::string, std::string> params;  // e.g. {"hash_dim", "1000001"}
  // The shell command whose output the lines are; empty: none, files hold the lines themselves; not
  // set: not known. For the record only: MakeParser does not look at it and nothing runs it.
  std::optional<std::string> pipe_command = std::nullopt;

  bool operator==(const ParserSpec&) const = default;
};

// What a user may ask for; texts for help.
struct ParserFormat {
  struct Param {
    std::string_view name;
    std::string_view help;
    std::string_view otherwise = {};  // the value when it is not given; empty: no such value
  };
  std::string_view name;
  std::string_view help;  // one line: what a line of text looks like
  std::vector<Param> params;
};

// All formats, in alphabetical order.
std::vector<ParserFormat> ParserFormats();

// A parser that fills the model's inputs. InvalidArgument when there is no such format or parameter
// (the message lists those that are), a value is not what the parameter takes, or the inputs do not
// fit the format. Reads a file only where a parameter names one (csv: schema_file, criteo:
// statistics_file).
StatusOr<std::unique_ptr<Parser>> MakeParser(const ParserSpec& spec,
                                             std::span<const InputSpec> inputs);

// The same spec with every parameter that has a default and was not given. An unknown format comes
// back as it is.
ParserSpec WithDefaults(ParserSpec spec);

// The inputs that the rows of a format fill, where the format itself says them: criteo, and csv and
// tsv by their schema. InvalidArgument for the others, and as above.
StatusOr<std::vector<InputSpec>> InputsOfFormat(const ParserSpec& spec);

}  // namespace flotilla
