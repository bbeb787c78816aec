// How the label of a LIBSVM or libffm line is converted to the label of a row: those files write
// the two classes as -1 and +1, models number classes from 0.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// A value.
class LabelRule {
 public:
  enum Kind {
    kBinary,   // -1 and 0 become 0, 1 stays; anything else is a bad row
    kWhole,    // any whole number of at most 2^24, unchanged: class numbers, ratings
    kNumber,   // any number whose square is a float32, unchanged: for a regression
    kClasses,  // the numbers of a list become 0, 1, ..; anything else is a bad row
  };

  // REQUIRES: kind is not kClasses.
  LabelRule(Kind kind = kBinary);  // NOLINT(google-explicit-constructor)

  // "binary", "whole", "number", or the numbers of class 0, 1, ..: "1,2". InvalidArgument that
  // lists these forms for any other text and for a number that is given twice.
  static StatusOr<LabelRule> FromText(std::string_view text);
  const std::string& text() const { return text_; }
  // What files write for class 0, 1, ..; empty when any number is a label.
  std::vector<std::string> ClassNames() const;

  // Reads the word at *p, which lies in `line`, and advances *p past it. On an error, created with
  // BadRow(), *p is unchanged.
  Status Read(std::string_view line, const char** p, float* label) const;

 private:
  // False when the number is not a label.
  bool Convert(double number, float* label) const;
  // The error for the word at `p`.
  Status Unexpected(std::string_view line, const char* p) const;

  Kind kind_;
  std::string text_;
  std::vector<std::pair<double, float>> classes_;  // kClasses: number and class, by number
};

}  // namespace flotilla
