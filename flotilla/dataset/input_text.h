// The inputs of a model as one line of text, for command lines: what a tool that has rows, but no
// model, needs to know.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

struct InputText {
  std::vector<InputSpec> inputs;
  // The id inputs that were said to have exactly one id in every row.
  std::vector<std::string> single;
};

// Words separated by blanks or commas, one per input in the order of the model:
//   NAME:dense:WIDTH   so many numbers (WIDTH 1 may be left out)
//   NAME:ids           any number of ids
//   NAME:id            exactly one id
//   NAME:label         the label
// A name "C1..C26" stands for C1, C2, .. C26.
// InvalidArgument that shows the word: no such form, a name twice, nothing at all.
StatusOr<InputText> InputsFromText(std::string_view text);

}  // namespace flotilla
