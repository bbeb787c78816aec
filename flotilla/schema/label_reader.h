// Reads a label: which class, click or number a field means. The rule comes from the schema and
// from the statistics of the training files, so that a value that training never saw is an error
// and never a new class.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/schema/schema.h"
#include "flotilla/schema/statistics.h"

namespace flotilla {

// Constant after construction.
class LabelReader {
 public:
  // `statistics` may be null.
  LabelReader(const Column& column, const LabelStatistics* statistics);

  // False when the field is not a label; expected() says what one is.
  bool Read(std::string_view cell, float* label) const;
  const std::string& expected() const { return expected_; }

 private:
  enum class Rule { kSpellings, kNumbers, kRegression, kWhole };

  Rule rule_ = Rule::kWhole;
  std::vector<std::pair<std::string, float>> spellings_;
  std::vector<double> numbers_;  // kNumbers: of class 0, 1, ..
  std::string expected_;
};

}  // namespace flotilla
