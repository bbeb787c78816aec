// Generates the initial values of parameters from an InitializerSpec. A value is a pure function of
// the key and its position, so it does not depend on which process generates it, when, or in which
// order.
//
// Keys: a dense parameter fills its elements from ParameterKey(seed, name), row-major; a row of a
// table from ParameterKey(seed, table).With(id), its position being the column.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "flotilla/base/rng.h"
#include "flotilla/base/status.h"
#include "flotilla/tensor/initializer_spec.h"
#include "flotilla/tensor/parameter_spec.h"

namespace flotilla {

inline RngKey ParameterKey(uint64_t seed, std::string_view name) { return RngKey(seed).With(name); }

// Fan-in and fan-out, by which Xavier and MSRA scale.
struct Fans {
  double in = 1;
  double out = 1;
};

// A matrix (rows, columns): in = rows, out = columns. A vector: its length for both. More
// dimensions: all but the last count as rows.
Fans FansOf(std::span<const int64_t> shape);
// A table with a fixed number of rows is the matrix (rows, dim). A growing table has no number of
// rows to scale by: dim for both.
Fans FansOf(const TableSpec& table);

// Thread-safe: constant after construction.
class Initializer {
 public:
  // Errors: a value that is not finite, an empty range, a negative deviation.
  static StatusOr<Initializer> Make(const InitializerSpec& spec, const Fans& fans);

  // out[i] = the value at position i, for i in [0, n). REQUIRES: n < 2^40.
  void Fill(const RngKey& key, int64_t n, float* out) const;

 private:
  Initializer() = default;

  void FillTruncated(const RngKey& key, int64_t n, float* out) const;

  // Xavier and MSRA are stored as kUniform or kNormal.
  InitializerSpec::Kind kind_ = InitializerSpec::Kind::kConstant;
  float base_ = 0;   // the constant, the low end or the mean
  float scale_ = 0;  // the width of the range or the deviation
  float below_ = 0;  // kUniform: the largest value below the high end
};

}  // namespace flotilla
