// Reads the field of one column: as a number, or as the code of its value, from which the encoder
// makes an id and which statistics count. What counting and encoding must agree on stands here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/scan_number.h"
#include "flotilla/schema/schema.h"
#include "flotilla/schema/value.h"
#include "flotilla/schema/value_key.h"

namespace flotilla {

// The code of a missing value.
inline constexpr uint64_t kMissingCode = 0x6d697373696e6721;

// Constant after construction, so safe to use from several threads.
class ColumnReader {
 public:
  enum class Read { kValue, kMissing, kBad };

  // `borders`: of a bucket with quantiles, once they are known. The schema need not outlive the
  // reader. REQUIRES: the schema is valid.
  ColumnReader(const Schema& schema, size_t column, std::span<const double> borders);

  // A missing value according to the schema; columns of version 1 take NaN and None as text.
  bool IsMissing(std::string_view cell) const {
    if (cell.empty()) return true;
    if (canonical_ && IsMissingText(cell)) return true;
    for (const std::string& each : missing_) {
      if (cell == each) return true;
    }
    return false;
  }

  // The number of a field; kBad when it is not one.
  Read Number(std::string_view cell, double* number) const {
    if (!cell.empty()) {
      const char* const end = cell.data() + cell.size();
      if (ScanDouble(cell.data(), end, number) == end && missing_.empty()) return Read::kValue;
    }
    return SlowNumber(cell, number);
  }

  // The code of a column that gives one id and is not a cross: for a time and for a bucket with
  // borders the index of its value, for id(number) the number, else the key of the value. The code
  // of a missing value is kMissingCode, and that of a missing one in version 1 the key of the empty
  // text. REQUIRES: the column gives one id.
  Read Code(std::string_view cell, uint64_t* code) const {
    if (kind_ != Kind::kText) return OtherCode(cell, code);
    if (IsMissing(cell)) {
      *code = missing_code_;
      return Read::kMissing;
    }
    *code = KeyOfText(canonical_ ? CanonicalText(cell) : cell, seed_);
    return Read::kValue;
  }

  // One value of a list, which is not empty. In version 1 it is never missing.
  Read ItemCode(std::string_view item, uint64_t* code) const {
    if (canonical_) return Code(item, code);
    if (kind_ == Kind::kText) {
      *code = KeyOfText(item, seed_);
      return Read::kValue;
    }
    const char* const end = item.data() + item.size();
    return ScanUint64(item.data(), end, code) == end ? Read::kValue : Read::kBad;
  }

  // Whether Code reads the value as a text, which is never kBad.
  bool takes_any_text() const { return kind_ == Kind::kText; }
  // Whether a code is the index of a value in a range of known size.
  bool is_direct() const { return kind_ == Kind::kTime || kind_ == Kind::kBorders; }
  // What a field should have been, for error messages: "a number".
  std::string_view expected() const;

 private:
  enum class Kind { kText, kWhole, kLogBucket, kBorders, kTime };

  Read SlowNumber(std::string_view cell, double* number) const;
  Read OtherCode(std::string_view cell, uint64_t* code) const;

  const Kind kind_;
  const bool canonical_;
  const uint64_t seed_;
  uint64_t missing_code_ = kMissingCode;
  const bool decimal_comma_;
  std::vector<std::string> missing_;
  std::vector<double> borders_;
  TimeFormat time_ = TimeFormat::kAny;
  Column::TimePart part_ = Column::TimePart::kHour;
};

// Splits the field of a list into its values; calls item(value, offset in the field) for each that
// is not empty, until one returns false. `trim` removes blanks around values.
template <typename F>
bool ForEachItem(std::string_view cell, char separator, bool trim, F item) {
  size_t begin = 0;
  while (begin < cell.size()) {
    const size_t end = std::min(cell.find(separator, begin), cell.size());
    size_t first = begin, last = end;
    while (trim && first < last && IsBlank(cell[first])) ++first;
    while (trim && first < last && IsBlank(cell[last - 1])) --last;
    if (first < last && !item(cell.substr(first, last - first), first)) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace flotilla
