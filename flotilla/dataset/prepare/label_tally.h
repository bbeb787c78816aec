// Counts the values of a label column and decides from them what the label asks of a model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/dataset/prepare/moments.h"
#include "flotilla/schema/schema.h"
#include "flotilla/schema/statistics.h"

namespace flotilla {

// What spellings of the same class have in common: letters in lower case, without signs and blanks
// at the end. "<=50K" and "<=50K." have the same.
std::string StemOfLabel(std::string_view word);

// A value; merging is not commutative in the last bits of the mean, so callers merge in the order
// of the rows.
class LabelTally {
 public:
  static constexpr size_t kMaxClasses = 1000;

  // Whether a value has so few of the rows that it may be an error: less than .1 %.
  static bool IsRare(int64_t count, int64_t rows) { return count * 1000 < rows; }

  // The text of one label that is not missing, or the number of its class if the schema lists them.
  void AddText(std::string_view text);
  void AddClass(int64_t k);
  void Merge(const LabelTally& later);

  int64_t count() const { return count_; }

  // Two values are a click, of which the larger number or the later word is 1; more numbers are a
  // regression, more words are classes; column.task overrides it. InvalidArgument with the values
  // and what to do: one value, words and numbers, more than kMaxClasses words, two words that look
  // like spellings of the same, a task that does not fit.
  StatusOr<LabelStatistics> Decide(const Column& column) const;

  // The rare ones among few values, as text: "'maybe' has 4 of 12000 rows"; empty: none.
  std::string RareValues(const Column& column) const;

 private:
  Status DecideWords(LabelStatistics* label) const;
  Status DecideNumbers(LabelStatistics* label) const;

  int64_t count_ = 0;
  Moments moments_;                                    // of numbers
  std::map<double, int64_t> numbers_;                  // at most kMaxClasses + 1
  std::map<std::string, int64_t, std::less<>> words_;  // at most kMaxClasses + 1
  std::map<int64_t, int64_t> classes_;
};

}  // namespace flotilla
