#include "flotilla/trainer/bad_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "flotilla/kernels/vec.h"
#include "flotilla/optim/gradient_clip.h"

namespace flotilla {
namespace {

constexpr float kUsual = 1 << 20;

bool AllWithin(std::span<const float> values, float limit) {
  return kernels::AllWithin(static_cast<int64_t>(values.size()), limit, values.data());
}

// The first value beyond the limit. REQUIRES: there is one.
size_t FirstBeyond(std::span<const float> values, float limit) {
  size_t i = 0;
  while (std::abs(values[i]) <= limit) ++i;
  return i;
}

Status BadValue(std::string what, float value) {
  return absl::OutOfRangeError(fmt::format(
      "{} is {:g}{}", what, value,
      std::isfinite(value) ? ", and the largest that optimizers can square is 1.8e19" : ""));
}

// A number of a batch.
struct Number {
  float value = 0;
  size_t input = 0;
  int64_t row = -1;  // -1: none
};

// NaN is the largest of all.
bool Larger(float a, float b) {
  if (std::isnan(b)) return false;
  return std::isnan(a) || std::abs(a) > std::abs(b);
}

Number LargestNumber(const Batch& batch) {
  Number largest;
  for (size_t f = 0; f < batch.fields.size(); ++f) {
    const AlignedVector<float>& values = batch.fields[f].values;
    const int64_t width = batch.rows > 0 ? static_cast<int64_t>(values.size()) / batch.rows : 1;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!Larger(values[i], largest.value)) continue;
      largest = {values[i], f, static_cast<int64_t>(i) / std::max<int64_t>(width, 1)};
    }
    const RaggedIds& ids = batch.fields[f].ids;
    for (size_t i = 0; i < ids.weights.size(); ++i) {
      if (!Larger(ids.weights[i], largest.value)) continue;
      const auto after = std::upper_bound(ids.offsets.begin(), ids.offsets.end(), i);
      largest = {ids.weights[i], f,
                 ids.one_per_row() ? static_cast<int64_t>(i) : after - ids.offsets.begin() - 1};
    }
  }
  return largest;
}

}  // namespace

Status BadGradient(const ModelSpec& spec, int parameter, int64_t first,
                   std::span<const float> values) {
  const size_t i = FirstBeyond(values, LargestGradient(spec.optimizer.clip));
  return BadValue(fmt::format("the gradient of parameter {}, element {},",
                              spec.parameters[parameter].name, first + static_cast<int64_t>(i)),
                  values[i]);
}

Status CheckDense(const ModelSpec& spec, const DenseLayout& layout, const Gradients& gradients) {
  const float limit = LargestGradient(spec.optimizer.clip);
  for (int p = 0; p < layout.parameters(); ++p) {
    const auto values = std::span<const float>(gradients.dense)
                            .subspan(layout.offset(p), static_cast<size_t>(layout.length(p)));
    if (!AllWithin(values, limit)) return BadGradient(spec, p, 0, values);
  }
  return absl::OkStatus();
}

Status CheckSparse(const ModelSpec& spec, const Gradients& gradients) {
  const float limit = LargestGradient(spec.optimizer.clip);
  for (size_t t = 0; t < gradients.sparse.size(); ++t) {
    const SparseRows& rows = gradients.sparse[t];
    if (AllWithin(rows.values, limit)) continue;
    const size_t i = FirstBeyond(rows.values, limit);
    return BadValue(fmt::format("the gradient of table {}, row {},", spec.tables[t].name,
                                rows.ids[i / static_cast<size_t>(rows.dim)]),
                    rows.values[i]);
  }
  return absl::OkStatus();
}

bool HasUsualNumbers(const Batch& batch) {
  return std::ranges::all_of(batch.fields, [](const Field& field) {
    return AllWithin(field.values, kUsual) && AllWithin(field.ids.weights, kUsual);
  });
}

std::string DescribeBadBatch(const Batch& batch, std::span<const InputSpec> inputs,
                             const Status& cause, const Dataset* dataset) {
  const auto name = [&](int64_t row) {
    return dataset == nullptr ? std::string() : dataset->NameRow(batch, row);
  };
  std::string text(Message(cause));
  if (const std::string rows = name(-1); !rows.empty()) text += "; its rows: " + rows;
  const Number largest = LargestNumber(batch);
  if (largest.row < 0 || std::abs(largest.value) <= kUsual) return text;
  const std::string row = name(largest.row);
  return text + fmt::format("; its largest number is {:g} in input {}, {}", largest.value,
                            inputs[largest.input].name,
                            row.empty() ? fmt::format("row {} of the batch", largest.row) : row);
}

}  // namespace flotilla
