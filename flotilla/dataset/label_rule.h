// How the label of a LIBSVM or libffm line is converted to the label of a row: those files write
// the two classes as -1 and +1, models number classes from 0.
#pragma once

#include <string_view>

#include "flotilla/base/status.h"

namespace flotilla {

enum class LabelRule {
  kBinary,  // -1 and 0 become 0, 1 stays; anything else is a bad row
  kWhole,   // any whole number of at most 2^24, unchanged: class numbers, ratings
  kNumber,  // any number whose square is a float32, unchanged: for a regression
};

// "binary", "whole" or "number".
std::string_view NameOf(LabelRule rule);

// Reads the word at *p, which lies in `line`, and advances *p past it. On an error, created with
// BadRow(), *p is unchanged.
Status ReadLabel(std::string_view line, LabelRule rule, const char** p, float* label);

}  // namespace flotilla
