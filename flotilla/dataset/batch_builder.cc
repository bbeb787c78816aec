#include "flotilla/dataset/batch_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flotilla {
namespace {

Status CheckNumbers(std::string_view input, std::span<const float> values) {
  for (const float value : values) {
    if (std::isfinite(value * value)) continue;
    return std::isfinite(value)
               ? InvalidArgument("input {}: {} is too large: its square must fit float32", input,
                                 value)
               : InvalidArgument("input {}: a value is infinite or not a number", input);
  }
  return absl::OkStatus();
}

}  // namespace

BatchBuilder::BatchBuilder(std::span<const InputSpec> inputs)
    : inputs_(inputs.begin(), inputs.end()), given_(inputs.size()) {
  batch_.fields.resize(inputs.size());
}

Field* BatchBuilder::Find(std::string_view name, bool is_ids, int64_t count) {
  if (!error_.ok()) return nullptr;
  const auto input = std::find_if(inputs_.begin(), inputs_.end(),
                                  [&](const InputSpec& spec) { return spec.name == name; });
  const size_t f = input - inputs_.begin();
  if (input == inputs_.end()) {
    error_ = InvalidArgument("no input is named {}", name);
  } else if (is_ids != (input->kind == InputKind::kIds)) {
    error_ = InvalidArgument("input {} takes {}", name, is_ids ? "values" : "ids");
  } else if (given_[f]) {
    error_ = InvalidArgument("input {} was given twice", name);
  } else {
    const int64_t width = is_ids ? 1 : input->width;
    if (rows_ < 0) rows_ = count / width;
    if (count != rows_ * width) {
      error_ = InvalidArgument("input {}: {} values, expected {} for {} rows", name, count,
                               rows_ * width, rows_);
    }
  }
  if (!error_.ok()) return nullptr;
  given_[f] = true;
  return &batch_.fields[f];
}

BatchBuilder& BatchBuilder::Values(std::string_view name, std::span<const float> values) {
  Field* field = Find(name, false, static_cast<int64_t>(values.size()));
  if (field == nullptr) return *this;
  error_ = CheckNumbers(name, values);
  field->values.assign(values.begin(), values.end());
  return *this;
}

BatchBuilder& BatchBuilder::Ids(std::string_view name, std::span<const uint64_t> ids) {
  Field* field = Find(name, true, static_cast<int64_t>(ids.size()));
  if (field != nullptr) field->ids.ids.assign(ids.begin(), ids.end());
  return *this;
}

BatchBuilder& BatchBuilder::Ids(std::string_view name, std::span<const uint64_t> ids,
                                std::span<const uint32_t> offsets, std::span<const float> weights) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != ids.size() ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    if (error_.ok()) {
      error_ = InvalidArgument("input {}: offsets must ascend from 0 to {}", name, ids.size());
    }
    return *this;
  }
  Field* field = Find(name, true, static_cast<int64_t>(offsets.size()) - 1);
  if (field == nullptr) return *this;
  field->ids.ids.assign(ids.begin(), ids.end());
  field->ids.offsets.assign(offsets.begin(), offsets.end());
  field->ids.weights.assign(weights.begin(), weights.end());
  error_ = CheckNumbers(name, weights);
  return *this;
}

StatusOr<Batch> BatchBuilder::Build() {
  FL_RETURN_IF_ERROR(Annotate(error_, "batch"));
  const auto missing = std::find(given_.begin(), given_.end(), false);
  if (missing != given_.end()) {
    return InvalidArgument("batch: input {} is missing", inputs_[missing - given_.begin()].name);
  }
  batch_.rows = std::max<int64_t>(rows_, 0);
  FL_RETURN_IF_ERROR(batch_.Check(inputs_));
  return std::move(batch_);
}

}  // namespace flotilla
