#include "flotilla/dataset/row_text.h"

#include <fmt/format.h>

namespace flotilla {

std::string RowText(std::span<const InputSpec> inputs, const Batch& batch, int64_t row) {
  std::string text;
  for (size_t f = 0; f < inputs.size(); ++f) {
    const InputSpec& input = inputs[f];
    const Field& field = batch.fields[f];
    fmt::format_to(std::back_inserter(text), "{}{}=", f == 0 ? "" : " ", input.name);
    if (input.kind == InputKind::kIds) {
      const std::span<const uint64_t> ids = field.ids.row(row);
      for (size_t i = 0; i < ids.size(); ++i) {
        fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", ids[i]);
        if (field.ids.weights.empty()) continue;
        fmt::format_to(std::back_inserter(text), ":{:.9g}",
                       field.ids.weights[field.ids.begin_of(row) + i]);
      }
    } else {
      const auto values = std::span(field.values).subspan(row * input.width, input.width);
      fmt::format_to(std::back_inserter(text), "{:.9g}", fmt::join(values, ","));
    }
  }
  return text;
}

}  // namespace flotilla
