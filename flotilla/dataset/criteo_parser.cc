#include "flotilla/dataset/criteo_parser.h"

// The hash of ten bytes is most of the work on a row; inline, it overlaps with the parsing.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

constexpr int kFields = 1 + kCriteoNumbers + kCriteoCategories;
constexpr int kFirstCategory = 1 + kCriteoNumbers;
constexpr size_t kLogTable = 4096;
constexpr int kMaxDigits = 18;  // any such number fits in int64_t

constexpr std::array<double, kCriteoNumbers> kMin = {0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::array<double, kCriteoNumbers> kDiff = {20, 603, 100, 50, 64000, 500, 100,
                                                      50, 500, 10,  10, 10,    50};

std::string NameOfField(int field) {
  if (field == 0) return "label";
  if (field < kFirstCategory) return fmt::format("number I{}", field);
  return fmt::format("category C{}", field - kCriteoNumbers);
}

// What to show of a bad field that begins at `begin`.
std::string Shown(const char* begin, const char* end) {
  return ShownText(begin, std::find(begin, end, '\t'));
}

Status LineTooShort(std::string_view line, int fields) {
  return BadRow(line.size() + 1,
                "expected {} fields separated by tabs, the line ends after {} ({})", kFields,
                fields, NameOfField(fields - 1));
}

// Reads [-]digits at `p` up to a tab or `end`; returns where it stopped, null when malformed.
// REQUIRES: p < end.
const char* ParseNumber(const char* p, const char* end, int64_t* value) {
  const bool negative = *p == '-';
  p += negative;
  const char* first = p;
  int64_t number = 0;
  while (p < end && static_cast<unsigned char>(*p - '0') < 10) {
    if (p - first == kMaxDigits) return nullptr;
    number = number * 10 + (*p++ - '0');
  }
  if (p == first || (p < end && *p != '\t')) return nullptr;
  *value = negative ? -number : number;
  return p;
}

// XXH64 of two bytes and then eight. The bytes are joined in registers: a load over two earlier
// stores would wait for both to reach the cache.
uint64_t HashOfTen(const char* two, const char* eight) {
  uint64_t word = 0;
  uint16_t prefix = 0;
  std::memcpy(&word, eight, 8);
  std::memcpy(&prefix, two, 2);
  char bytes[10];
  if constexpr (std::endian::native == std::endian::little) {
    const uint64_t head = word << 16 | prefix;
    const uint16_t tail = static_cast<uint16_t>(word >> 48);
    std::memcpy(bytes, &head, 8);
    std::memcpy(bytes + 8, &tail, 2);
  } else {
    std::memcpy(bytes, two, 2);
    std::memcpy(bytes + 2, eight, 8);
  }
  return XXH64(bytes, sizeof(bytes), 0);
}

// Where the field at `p` ends. Nearly all have eight bytes, so those are looked at as one word.
const char* EndOfField(const char* p, const char* end) {
  if (end - p >= 8 && (end - p == 8 || p[8] == '\t')) {
    constexpr uint64_t kOnes = 0x0101010101010101u;
    uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= kOnes * '\t';
    const bool has_tab = ((word - kOnes) & ~word & (kOnes << 7)) != 0;
    if (!has_tab) return p + 8;
  }
  while (p < end && *p != '\t') ++p;
  return p;
}

}  // namespace

std::vector<InputSpec> CriteoInputs() {
  std::vector<InputSpec> inputs;
  inputs.push_back({"dense_input", InputKind::kDense, kCriteoNumbers});
  for (int c = 1; c <= kCriteoCategories; ++c) {
    inputs.push_back({fmt::format("C{}", c), InputKind::kIds, 1});
  }
  inputs.push_back({"label", InputKind::kLabel, 1});
  return inputs;
}

StatusOr<std::unique_ptr<CriteoParser>> CriteoParser::Make(std::span<const InputSpec> inputs,
                                                           const CriteoOptions& options) {
  if (options.hash_dim < 1 || options.hash_dim >= uint64_t{1} << 63) {
    return InvalidArgument("criteo: hash_dim {} is not in [1, 2^63)", options.hash_dim);
  }
  const std::vector<InputSpec> expected = CriteoInputs();
  std::unique_ptr<CriteoParser> parser(new CriteoParser(inputs, options));
  std::vector<int> field_of(expected.size(), -1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    size_t k = 0;
    while (k < expected.size() && expected[k].name != inputs[i].name) ++k;
    if (k == expected.size()) {
      return InvalidArgument("criteo: input {} is not one of dense_input, C1 .. C26, label",
                             inputs[i].name);
    }
    if (inputs[i] != expected[k]) {
      return InvalidArgument("criteo: input {} has another kind or width than Criteo rows have",
                             inputs[i].name);
    }
    if (field_of[k] >= 0) return InvalidArgument("criteo: input {} twice", inputs[i].name);
    field_of[k] = static_cast<int>(i);
  }
  for (size_t k = 0; k < expected.size(); ++k) {
    if (field_of[k] < 0) return InvalidArgument("criteo: no input {}", expected[k].name);
  }
  parser->dense_field_ = field_of.front();
  parser->label_field_ = field_of.back();
  std::copy_n(field_of.begin() + 1, kCriteoCategories, parser->category_fields_.begin());
  return parser;
}

std::string CriteoParser::identity() const {
  return fmt::format("criteo/1 numeric={} hash_dim={}",
                     options_.numeric == CriteoOptions::Numeric::kSeeds ? "seeds" : "log",
                     options_.hash_dim);
}

// The three functions below are used in this file only; `inline` lets the compiler inline them also
// in position independent code.
inline float CriteoParser::Normalise(int column, int64_t value) const {
  if (options_.numeric == CriteoOptions::Numeric::kSeeds) {
    return static_cast<float>((static_cast<double>(value) - kMin[column]) / kDiff[column]);
  }
  if (value <= 0) return 0;
  if (value < static_cast<int64_t>(kLogTable)) return logs_[value];
  return static_cast<float>(std::log1p(static_cast<double>(value)));
}

// hash % hash_dim by a multiplication: the estimated quotient is right or one too small.
inline uint64_t CriteoParser::Modulo(uint64_t hash) const {
  const uint64_t quotient =
      static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * reciprocal_) >> 64);
  const uint64_t rest = hash - quotient * options_.hash_dim;
  return rest < options_.hash_dim ? rest : rest - options_.hash_dim;
}

inline uint64_t CriteoParser::IdOf(int category, const char* value, size_t length) const {
  const int column = kFirstCategory + category;
  const char prefix[2] = {static_cast<char>('0' + column / 10),
                          static_cast<char>('0' + column % 10)};
  if (length == 8) return Modulo(HashOfTen(prefix, value));  // nearly every value
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, prefix, sizeof(prefix));
  if (length > 0) XXH64_update(&state, value, length);
  return Modulo(XXH64_digest(&state));
}

CriteoParser::CriteoParser(std::span<const InputSpec> inputs, const CriteoOptions& options)
    : inputs_(inputs.begin(), inputs.end()),
      options_(options),
      reciprocal_(UINT64_MAX / options.hash_dim) {
  for (int c = 0; c < kCriteoCategories; ++c) missing_ids_[c] = IdOf(c, nullptr, 0);
  if (options.numeric != CriteoOptions::Numeric::kLog) return;
  logs_.resize(kLogTable);
  for (size_t x = 0; x < kLogTable; ++x) {
    logs_[x] = static_cast<float>(std::log1p(static_cast<double>(x)));
  }
}

// In this and the next function *p stands on the tab before the next field, or on the line's end.
Status CriteoParser::ParseNumbers(std::string_view line, const char** p, Row* row) const {
  const char* const end = line.data() + line.size();
  const char* at = *p;
  for (int i = 0; i < kCriteoNumbers; ++i) {
    if (at == end) return LineTooShort(line, 1 + i);
    ++at;
    row->numbers[i] = 0;
    if (at == end || *at == '\t') continue;
    int64_t value = 0;
    const char* stop = ParseNumber(at, end, &value);
    if (stop == nullptr) {
      return BadRow(at - line.data() + 1,
                    "{}: expected a whole number of at most {} digits, found '{}'",
                    NameOfField(1 + i), kMaxDigits, Shown(at, end));
    }
    row->numbers[i] = Normalise(i, value);
    at = stop;
  }
  *p = at;
  return absl::OkStatus();
}

Status CriteoParser::ParseCategories(std::string_view line, const char** p, Row* row) const {
  const char* const end = line.data() + line.size();
  const char* at = *p;
  for (int c = 0; c < kCriteoCategories; ++c) {
    if (at == end) return LineTooShort(line, kFirstCategory + c);
    ++at;
    const char* const stop = EndOfField(at, end);
    row->ids[c] = stop == at ? missing_ids_[c] : IdOf(c, at, stop - at);
    at = stop;
  }
  *p = at;
  return absl::OkStatus();
}

Status CriteoParser::ParseRow(std::string_view line, Row* row) const {
  const char* p = line.data();
  const char* const end = p + line.size();
  if (line.empty() || (*p != '0' && *p != '1') || (line.size() > 1 && p[1] != '\t')) {
    return BadRow(1, "label: expected 0 or 1, found '{}'", Shown(p, end));
  }
  row->label = static_cast<float>(*p++ - '0');
  FL_RETURN_IF_ERROR(ParseNumbers(line, &p, row));
  FL_RETURN_IF_ERROR(ParseCategories(line, &p, row));
  if (p != end) {
    return BadRow(p - line.data() + 1, "expected the end of the line after {} fields", kFields);
  }
  return absl::OkStatus();
}

Status CriteoParser::Parse(std::string_view line, Batch* batch) const {
  Row row;
  FL_RETURN_IF_ERROR(ParseRow(line, &row));
  AlignedVector<float>& dense = batch->fields[dense_field_].values;
  dense.insert(dense.end(), row.numbers.begin(), row.numbers.end());
  for (int c = 0; c < kCriteoCategories; ++c) {
    batch->fields[category_fields_[c]].ids.ids.push_back(row.ids[c]);
  }
  batch->fields[label_field_].values.push_back(row.label);
  ++batch->rows;
  return absl::OkStatus();
}

}  // namespace flotilla
