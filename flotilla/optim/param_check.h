// Checks of the named numbers that specs carry (OptimizerSpec::params, ScheduleSpec::params), so
// that every rule and schedule reports a wrong name or value in the same way.
//
// Used by update_rule.cc and schedule.cc before anything reads a parameter; independent of any
// rule.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"

namespace flotilla {

using ParamMap = std::map<std::string, double>;

// Allowed range of a value, also after rounding to float: 0.99999999999 is not below 1, and 1e-50
// is not above 0. NaN and infinities are never allowed.
enum class ParamRange {
  kFlag,         // 0 or 1
  kFraction,     // 0 <= x < 1
  kPositive,     // x > 0
  kNonNegative,  // x >= 0
  kMinusOneToZero,
  kSteps,        // a whole number >= 1
  kStepsOrZero,  // a whole number >= 0
};

struct KnownParam {
  std::string_view name;
  ParamRange range;
  bool required = false;
};

// Whether x lies in the range, and the description of the range in errors ("at least 0").
bool InRange(ParamRange range, double x);
std::string_view RangeText(ParamRange range);

// Returns an error that starts with `owner` and names the unknown, missing or invalid parameter;
// for an unknown or missing parameter it lists the known ones.
Status CheckParams(std::string_view owner, const ParamMap& params,
                   std::span<const KnownParam> known);

// Sets value to params[name]; leaves it unchanged if the parameter is absent.
void ReadParam(const ParamMap& params, const std::string& name, double& value);
void ReadParam(const ParamMap& params, const std::string& name, bool& value);

}  // namespace flotilla
