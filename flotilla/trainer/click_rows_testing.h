// Rows that the tests of trainers train on: clicks that depend on the ids, so that there is
// something to learn. For test programs only.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

inline constexpr int kClickSlots = 3;

inline std::vector<InputSpec> ClickInputs() {
  return {{.name = "dense", .width = 2},
          {.name = "C0", .kind = InputKind::kIds},
          {.name = "C1", .kind = InputKind::kIds},
          {.name = "C2", .kind = InputKind::kIds},
          {.name = "label", .kind = InputKind::kLabel}};
}

// Row r; each slot has `ids` ids. REQUIRES: the batch has the fields of ClickInputs().
inline void AppendClickRow(int64_t r, uint64_t ids, Batch* batch) {
  const RngKey row = RngKey(5).With(static_cast<uint64_t>(r));
  for (int d = 0; d < 2; ++d) batch->fields[0].values.push_back(row.Uniform(d) - 0.5f);
  double logit = 0;
  for (int s = 0; s < kClickSlots; ++s) {
    const uint64_t id = 100 * s + row.Below(10 + s, ids);
    batch->fields[1 + s].ids.ids.push_back(id);
    logit += 4 * (RngKey(6).Uniform(id) - 0.5f);
  }
  batch->fields[1 + kClickSlots].values.push_back(row.Uniform(20) < 1 / (1 + std::exp(-logit)) ? 1
                                                                                               : 0);
  ++batch->rows;
}

}  // namespace flotilla
