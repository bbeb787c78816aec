#include "benchmarks/ctr_rows.h"

#include <cmath>

namespace flotilla {

uint64_t MadeUpId(const RngKey& root, int slot, int64_t row) {
  constexpr double kSlotValues[] = {10, 100, 1000, 1000, 10000, 1000000};
  const double u = root.With(slot).Uniform(row);
  const auto rank = static_cast<uint64_t>(std::floor(std::pow(kSlotValues[slot % 6], u)));
  return Mix64(rank + 2000003ull * slot) % 1000001;
}

Batch MadeUpRows(const std::vector<InputSpec>& inputs, int64_t count, const IdFunction& id) {
  const RngKey root(1);
  Batch rows{.rows = count, .fields = std::vector<Field>(inputs.size())};
  for (int64_t r = 0; r < rows.rows; ++r) {
    int slot = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Field& field = rows.fields[i];
      if (inputs[i].kind == InputKind::kDense) {
        for (int d = 0; d < inputs[i].width; ++d) {
          field.values.push_back(root.With(100).Uniform(inputs[i].width * r + d));
        }
      } else if (inputs[i].kind == InputKind::kLabel) {
        field.values.push_back(root.With(101).Uniform(r) < 0.25f ? 1 : 0);
      } else if (inputs[i].name == "history") {
        if (r == 0) field.ids.offsets.push_back(0);
        for (int k = 0; k < kHistoryLength; ++k) {
          field.ids.ids.push_back(id(root, slot - 1, kHistoryLength * r + k));
        }
        field.ids.offsets.push_back(static_cast<uint32_t>(field.ids.ids.size()));
      } else {
        field.ids.ids.push_back(id(root, slot++, r));
      }
    }
  }
  return rows;
}

}  // namespace flotilla
