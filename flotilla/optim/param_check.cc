#include "flotilla/optim/param_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flotilla {

namespace {

std::string Names(std::span<const KnownParam> known) {
  std::string names;
  for (const KnownParam& param : known) {
    if (!names.empty()) names += ", ";
    names += param.name;
  }
  return names.empty() ? "none" : names;
}

bool IsWhole(double x) { return x == std::floor(x) && x <= 0x1p53; }

}  // namespace

bool InRange(ParamRange range, double x) {
  // Rules compute in float, so a value must stay within its range after rounding.
  const float rounded = static_cast<float>(x);
  if (!std::isfinite(rounded)) return false;
  switch (range) {
    case ParamRange::kFlag:
      return x == 0 || x == 1;
    case ParamRange::kFraction:
      return x >= 0 && rounded < 1;
    case ParamRange::kPositive:
      return x >= std::numeric_limits<float>::min();
    case ParamRange::kNonNegative:
      return x >= 0;
    case ParamRange::kMinusOneToZero:
      return x >= -1 && x <= 0;
    case ParamRange::kSteps:
      return x >= 1 && IsWhole(x);
    case ParamRange::kStepsOrZero:
      return x >= 0 && IsWhole(x);
  }
  return false;
}

std::string_view RangeText(ParamRange range) {
  switch (range) {
    case ParamRange::kFlag:
      return "0 or 1";
    case ParamRange::kFraction:
      return "at least 0 and less than 1";
    case ParamRange::kPositive:
      return "finite and greater than 0";
    case ParamRange::kNonNegative:
      return "finite and at least 0";
    case ParamRange::kMinusOneToZero:
      return "between -1 and 0";
    case ParamRange::kSteps:
      return "a whole number of at least 1";
    case ParamRange::kStepsOrZero:
      return "a whole number of at least 0";
  }
  return "";
}

Status CheckParams(std::string_view owner, const ParamMap& params,
                   std::span<const KnownParam> known) {
  for (const auto& [name, value] : params) {
    const auto param = std::find_if(known.begin(), known.end(),
                                    [&n = name](const KnownParam& k) { return k.name == n; });
    if (param == known.end()) {
      return InvalidArgument("{}: unknown parameter '{}'; known: {}", owner, name, Names(known));
    }
    if (!InRange(param->range, value)) {
      return InvalidArgument("{}: {} is {}, but must be {}", owner, name, value,
                             RangeText(param->range));
    }
  }
  for (const KnownParam& param : known) {
    if (param.required && !params.contains(std::string(param.name))) {
      return InvalidArgument("{}: parameter '{}' is missing; known: {}", owner, param.name,
                             Names(known));
    }
  }
  return absl::OkStatus();
}

void ReadParam(const ParamMap& params, const std::string& name, double& value) {
  if (auto found = params.find(name); found != params.end()) value = found->second;
}

void ReadParam(const ParamMap& params, const std::string& name, bool& value) {
  if (auto found = params.find(name); found != params.end()) value = found->second != 0;
}

}  // namespace flotilla
