#include "flotilla/schema/column_reader.h"

#include <algorithm>

namespace flotilla {
namespace {

using Role = Column::Role;

bool IsVersion1(const Column& column) {
  return (column.role == Role::kId || column.role == Role::kBag) &&
         column.coding == Column::Coding::kModulo;
}

constexpr int64_t kBucketTable = 4096;

// The buckets of small whole numbers, which most counts are: a logarithm takes as long as reading
// the number.
const std::vector<int64_t>& SmallBuckets() {
  static const std::vector<int64_t> buckets = [] {
    std::vector<int64_t> table(kBucketTable);
    for (int64_t x = 0; x < kBucketTable; ++x) table[x] = LogBucket(static_cast<double>(x));
    return table;
  }();
  return buckets;
}

int64_t BucketOf(double number) {
  if (number >= 0 && number < static_cast<double>(kBucketTable)) {
    const auto whole = static_cast<int64_t>(number);
    if (static_cast<double>(whole) == number) return SmallBuckets()[whole];
  }
  return LogBucket(number);
}

}  // namespace

ColumnReader::ColumnReader(const Schema& schema, size_t column, std::span<const double> borders)
    : kind_([&] {
        const Column& spec = schema.columns[column];
        if (spec.role == Role::kTime) return Kind::kTime;
        if (spec.role == Role::kBucket) {
          return spec.quantiles > 0 || !spec.borders.empty() ? Kind::kBorders : Kind::kLogBucket;
        }
        return spec.number ? Kind::kWhole : Kind::kText;
      }()),
      canonical_(!IsVersion1(schema.columns[column])),
      seed_(HashBytes(schema.columns[column].vocabulary_name())),
      decimal_comma_(schema.decimal_comma),
      missing_(schema.missing) {
  const Column& spec = schema.columns[column];
  borders_ = spec.borders;
  if (spec.quantiles > 0) borders_.assign(borders.begin(), borders.end());
  time_ = spec.time;
  part_ = spec.part;
  if (IsVersion1(spec)) missing_code_ = spec.number ? 0 : KeyOfText({}, seed_);
}

ColumnReader::Read ColumnReader::SlowNumber(std::string_view cell, double* number) const {
  *number = 0;
  if (IsMissing(cell) || IsMissingText(cell)) return Read::kMissing;
  const char* const end = cell.data() + cell.size();
  if (ScanDouble(cell.data(), end, number) == end) return Read::kValue;
  if (!decimal_comma_ || !IsDecimalComma(cell)) return Read::kBad;
  *number = FromDecimalComma(cell);
  return Read::kValue;
}

ColumnReader::Read ColumnReader::OtherCode(std::string_view cell, uint64_t* code) const {
  *code = missing_code_;
  if (kind_ == Kind::kWhole) {
    if (IsMissing(cell)) return Read::kMissing;
    const char* const end = cell.data() + cell.size();
    return ScanUint64(cell.data(), end, code) == end ? Read::kValue : Read::kBad;
  }
  if (kind_ == Kind::kTime) {
    if (IsMissing(cell)) return Read::kMissing;
    TimeOfWeek time;
    if (!ReadTime(cell, time_, &time)) return Read::kBad;
    *code = static_cast<uint64_t>(part_ == Column::TimePart::kHour ? time.hour : time.weekday);
    return Read::kValue;
  }
  double number = 0;
  const Read read = Number(cell, &number);
  if (read != Read::kValue) return read;
  if (kind_ == Kind::kLogBucket) {
    *code = KeyOfWhole(BucketOf(number), seed_);
  } else {
    *code = static_cast<uint64_t>(std::upper_bound(borders_.begin(), borders_.end(), number) -
                                  borders_.begin());
  }
  return Read::kValue;
}

std::string_view ColumnReader::expected() const {
  if (kind_ == Kind::kWhole) return "a whole number below 2^64";
  if (kind_ == Kind::kTime) {
    switch (time_) {
      case TimeFormat::kHours:
        return "a time as YYMMDDHH";
      case TimeFormat::kSeconds:
        return "a time in seconds since 1970";
      case TimeFormat::kMilliseconds:
        return "a time in milliseconds since 1970";
      case TimeFormat::kIso:
        return "a time as YYYY-MM-DD HH:MM:SS";
      case TimeFormat::kAny:
        return "a time (YYMMDDHH, seconds or milliseconds since 1970, YYYY-MM-DD HH:MM:SS)";
    }
  }
  return "a number";
}

}  // namespace flotilla
