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
      fmt::format_to(std::back_inserter(text), "{}", fmt::join(field.ids.row(row), ","));
    } else {
      const auto values = std::span(field.values).subspan(row * input.width, input.width);
      fmt::format_to(std::back_inserter(text), "{:.9g}", fmt::join(values, ","));
    }
  }
  return text;
}

}  // namespace flotilla
