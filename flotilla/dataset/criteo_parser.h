// Parses raw lines of the Criteo display advertising data: a label (0 or 1), 13 whole numbers and
// 26 categories, separated by tabs; an empty field is a missing value. Normalises numbers and
// hashes categories on the fly, so no preparation of the files is needed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/dataset/criteo_line.h"
#include "flotilla/dataset/criteo_statistics.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

struct CriteoOptions {
  enum class Numeric {
    kSeeds,       // (x - min) / diff with a fixed min and diff per column, no clipping
    kLog,         // log(1 + max(x, 0))
    kStatistics,  // (x - min) / (p95 - min) with min and p95 of `statistics`, no clipping
  };
  Numeric numeric = Numeric::kSeeds;
  CriteoStatistics statistics;  // kStatistics only: see ReadCriteoStatistics
  // Ids are in [0, hash_dim). At least 1, less than 2^63.
  uint64_t hash_dim = 1000001;
};

// The inputs that the parser fills: "dense_input" (13 numbers), "C1" .. "C26" (ids), "label".
std::vector<InputSpec> CriteoInputs();

// The k-th number is element k of "dense_input"; a missing one is 0. The id of category column c
// (14 .. 39, counted from the label as 0) is XXH64(decimal c, then the value's bytes) % hash_dim; a
// missing value has the bytes of the empty string. A category may contain any byte except a tab.
class CriteoParser : public Parser {
 public:
  // `inputs` are those of CriteoInputs() in any order; the fields of a batch have that order.
  // InvalidArgument with the name of the input when one is missing, unknown or of another kind.
  static StatusOr<std::unique_ptr<CriteoParser>> Make(std::span<const InputSpec> inputs,
                                                      const CriteoOptions& options);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  // One parsed row, before it is appended.
  struct Row {
    float label;
    std::array<float, kCriteoNumbers> numbers;
    std::array<uint64_t, kCriteoCategories> ids;
  };

  CriteoParser(std::span<const InputSpec> inputs, const CriteoOptions& options);
  struct RowSink;  // fills a Row
  // Fast path that reads a line without a branch per field, which no processor could predict.
  // Returns false for an unusual or bad line, which WalkCriteoLine then handles.
  bool ReadUsual(std::string_view line, Row* row) const;
  bool ReadUsualNumbers(std::string_view line, const uint32_t* tabs, Row* row) const;
  void ReadCategories(std::string_view line, const uint32_t* tabs, Row* row) const;
  float Normalise(int column, int64_t value) const;
  uint64_t IdOf(int category, std::string_view value) const;
  uint64_t Modulo(uint64_t hash) const;

  const std::vector<InputSpec> inputs_;
  const CriteoOptions options_;
  const uint64_t reciprocal_;  // floor((2^64 - 1) / hash_dim)
  // All modes except kLog: (x - min_) / diff_.
  std::array<double, kCriteoNumbers> min_{}, diff_{};
  std::vector<float> logs_;  // kLog: log(1 + x) of small x, since most numbers are small
  std::array<uint64_t, kCriteoCategories> missing_ids_{};
  int label_field_ = 0;
  int dense_field_ = 0;
  std::array<int, kCriteoCategories> category_fields_{};
};

}  // namespace flotilla
