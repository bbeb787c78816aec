// Parses the inputs of a model from one line of text, for command line tools that have rows but no
// model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

struct InputText {
  std::vector<InputSpec> inputs;
  // The id inputs declared to have exactly one id in every row.
  std::vector<std::string> single;
};

// Words separated by blanks or commas, one per input in the order of the model:
//   NAME:dense:WIDTH   WIDTH numbers (WIDTH 1 may be omitted)
//   NAME:ids           any number of ids
//   NAME:id            exactly one id
//   NAME:label         the label
// A name "C1..C26" stands for C1, C2, .. C26. InvalidArgument with the word: a malformed word, a
// duplicate name, no words at all.
StatusOr<InputText> InputsFromText(std::string_view text);

}  // namespace flotilla
