#include "flotilla/base/human.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace flotilla {

std::string HumanCount(double count) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  if (!(count >= 999.5)) return fmt::format("{:.0f}", count);
  size_t unit = 0;
  // 999.5 and not 1000: 999,600 is 1.00 M, not 1000 k.
  while (count >= 999.5 && unit + 1 < std::size(kUnits)) {
    count /= 1000;
    ++unit;
  }
  const int decimals = count < 9.995 ? 2 : count < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", count, decimals, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = std::llround(std::min(seconds, 1e12));
  if (whole < 60) return fmt::format("{} s", whole);
  const int64_t minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (hours == 0) return fmt::format("{}:{:02}", minutes, whole % 60);
  if (days == 0) return fmt::format("{}:{:02}:{:02}", hours, minutes % 60, whole % 60);
  return fmt::format("{} d {:02}:{:02}", days, hours % 24, minutes % 60);
}

std::string HumanShare(double share) {
  if (std::isnan(share)) return "? %";
  const double percent = share >= 1 ? 100 : std::min(99.0, std::round(100 * std::max(share, 0.0)));
  return fmt::format("{:.0f} %", percent);
}

std::string HumanFigure(double figure) {
  constexpr double kLarge = 1e6;
  return std::fabs(figure) < kLarge ? fmt::format("{:.4f}", figure) : fmt::format("{:.4g}", figure);
}

}  // namespace flotilla
