#include "flotilla/dataset/criteo_parser.h"

// Allows the hash state to be on the stack.
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "flotilla/kernels/text.h"

namespace flotilla {
namespace {

constexpr size_t kLogTable = 4096;

constexpr std::array<double, kCriteoNumbers> kMin = {0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr std::array<double, kCriteoNumbers> kDiff = {20, 603, 100, 50, 64000, 500, 100,
                                                      50, 500, 10,  10, 10,    50};

// Hash prefix of the categories of a column: the two digits of the column number.
constexpr uint64_t PrefixOf(int category) {
  const int column = kFirstCriteoCategory + category;
  return static_cast<uint64_t>('0' + column / 10) | static_cast<uint64_t>('0' + column % 10) << 8;
}

// The prefixes of all categories and a few more, because hashes are computed eight at a time.
constexpr int kHashes = 32;
constexpr std::array<uint64_t, kHashes> kPrefixes = [] {
  std::array<uint64_t, kHashes> prefixes{};
  for (int c = 0; c < kCriteoCategories; ++c) prefixes[c] = PrefixOf(c);
  return prefixes;
}();

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
    if (field_of[k] >= 0) return InvalidArgument("criteo: duplicate input {}", inputs[i].name);
    field_of[k] = static_cast<int>(i);
  }
  for (size_t k = 0; k < expected.size(); ++k) {
    if (field_of[k] < 0) return InvalidArgument("criteo: input {} is missing", expected[k].name);
  }
  parser->dense_field_ = field_of.front();
  parser->label_field_ = field_of.back();
  std::copy_n(field_of.begin() + 1, kCriteoCategories, parser->category_fields_.begin());
  return parser;
}

std::string CriteoParser::identity() const {
  using Numeric = CriteoOptions::Numeric;
  std::string numeric = options_.numeric == Numeric::kSeeds ? "seeds" : "log";
  if (options_.numeric == Numeric::kStatistics) {
    numeric = fmt::format("statistics({};{})", fmt::join(min_, ","), fmt::join(diff_, ","));
  }
  return fmt::format("criteo/2 numeric={} hash_dim={}", numeric, options_.hash_dim);
}

// The functions below are used in this file only; `inline` lets the compiler inline them even in
// position-independent code.
inline float CriteoParser::Normalise(int column, int64_t value) const {
  if (options_.numeric != CriteoOptions::Numeric::kLog) {
    return static_cast<float>((static_cast<double>(value) - min_[column]) / diff_[column]);
  }
  if (value <= 0) return 0;
  if (value < static_cast<int64_t>(kLogTable)) return logs_[value];
  return static_cast<float>(std::log1p(static_cast<double>(value)));
}

// Computes hash % hash_dim with a multiplication: the estimated quotient is exact or one too small.
inline uint64_t CriteoParser::Modulo(uint64_t hash) const {
  const uint64_t quotient =
      static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * reciprocal_) >> 64);
  const uint64_t rest = hash - quotient * options_.hash_dim;
  return rest < options_.hash_dim ? rest : rest - options_.hash_dim;
}

uint64_t CriteoParser::IdOf(int category, std::string_view value) const {
  const char prefix[2] = {static_cast<char>(kPrefixes[category]),
                          static_cast<char>(kPrefixes[category] >> 8)};
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, prefix, sizeof(prefix));
  if (!value.empty()) XXH64_update(&state, value.data(), value.size());
  return Modulo(XXH64_digest(&state));
}

CriteoParser::CriteoParser(std::span<const InputSpec> inputs, const CriteoOptions& options)
    : inputs_(inputs.begin(), inputs.end()),
      options_(options),
      reciprocal_(UINT64_MAX / options.hash_dim) {
  for (int c = 0; c < kCriteoCategories; ++c) missing_ids_[c] = IdOf(c, {});
  min_ = kMin;
  diff_ = kDiff;
  if (options.numeric == CriteoOptions::Numeric::kStatistics) {
    for (int i = 0; i < kCriteoNumbers; ++i) {
      min_[i] = static_cast<double>(options.statistics.columns[i].min);
      diff_[i] = options.statistics.columns[i].range();
    }
  }
  if (options.numeric != CriteoOptions::Numeric::kLog) return;
  logs_.resize(kLogTable);
  for (size_t x = 0; x < kLogTable; ++x) {
    logs_[x] = static_cast<float>(std::log1p(static_cast<double>(x)));
  }
}

struct CriteoParser::RowSink {
  explicit RowSink(const CriteoParser& owner) : parser(owner) {}

  const CriteoParser& parser;
  Row row;  // a good line sets all members

  void Label(bool clicked) { row.label = clicked ? 1 : 0; }
  void MissingNumber(int i) { row.numbers[i] = 0; }
  void Number(int i, int64_t value) { row.numbers[i] = parser.Normalise(i, value); }
  void Category(int c, std::string_view value) {
    row.ids[c] = value.empty() ? parser.missing_ids_[c] : parser.IdOf(c, value);
  }
};

bool CriteoParser::ReadUsual(std::string_view line, Row* row) const {
  constexpr int kTabs = kCriteoFields - 1;
  if constexpr (std::endian::native != std::endian::little) return false;
  if (line.size() > std::numeric_limits<uint32_t>::max()) return false;
  uint32_t tabs[kTabs + kernels::kPositionSlack];
  if (kernels::FindByte(line, '\t', kTabs, tabs) != kTabs) return false;
  std::fill(tabs + kTabs, std::end(tabs), static_cast<uint32_t>(line.size()));
  if (tabs[0] != 1 || (line[0] != '0' && line[0] != '1')) return false;
  row->label = line[0] == '1' ? 1 : 0;
  if (!ReadUsualNumbers(line, tabs, row)) return false;
  ReadCategories(line, tabs + kCriteoNumbers, row);
  return true;
}

inline bool CriteoParser::ReadUsualNumbers(std::string_view line, const uint32_t* tabs,
                                           Row* row) const {
  constexpr int kRead = 16;  // includes a few categories, to fill whole vectors
  int32_t values[kRead];
  const uint32_t others = kernels::ReadShortNumbers(line, tabs, kRead, values);
  if ((others & ((1 << kCriteoNumbers) - 1)) != 0) return false;
  if (options_.numeric == CriteoOptions::Numeric::kLog) {
    // Also computed for a missing number, which is read as 0.
    for (int i = 0; i < kCriteoNumbers; ++i) row->numbers[i] = Normalise(i, values[i]);
    return true;
  }
  for (int i = 0; i < kCriteoNumbers; ++i) {
    const auto number = static_cast<float>((values[i] - min_[i]) / diff_[i]);
    row->numbers[i] = tabs[i + 1] - tabs[i] == 1 ? 0 : number;
  }
  return true;
}

inline void CriteoParser::ReadCategories(std::string_view line, const uint32_t* tabs,
                                         Row* row) const {
  uint64_t hashes[kHashes];
  uint32_t others = kernels::HashFieldsOfEight(line, tabs, kHashes, kPrefixes.data(), hashes);
  others &= (1u << kCriteoCategories) - 1;
  for (int c = 0; c < kCriteoCategories; ++c) row->ids[c] = Modulo(hashes[c]);
  for (; others != 0; others &= others - 1) {
    const int c = std::countr_zero(others);
    const uint32_t begin = tabs[c] + 1, length = tabs[c + 1] - begin;
    const std::string_view value = line.substr(begin, length);
    row->ids[c] = IsMissingCriteoField(value) ? missing_ids_[c] : IdOf(c, value);
  }
}

Status CriteoParser::Parse(std::string_view line, Batch* batch) const {
  RowSink sink(*this);
  if (!ReadUsual(line, &sink.row)) {
    if (IsBlankCriteoLine(line)) return absl::OkStatus();
    FL_RETURN_IF_ERROR(WalkCriteoLine(line, &sink));
  }
  const Row& row = sink.row;
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
