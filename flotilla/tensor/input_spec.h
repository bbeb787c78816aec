// The inputs of a model: one spec per declared input, in the order of declaration.
#pragma once

#include <cstdint>
#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

enum class InputKind {
  kDense,  // `width` numbers per row
  kIds,    // any number of 64-bit ids per row; width is 1
  kLabel,  // one number per row: a class (whole numbers are exact below 2^24) or a value to predict
};

struct InputSpec {
  std::string name;
  InputKind kind = InputKind::kDense;
  int64_t width = 1;

  bool operator==(const InputSpec&) const = default;
};

}  // namespace flotilla
