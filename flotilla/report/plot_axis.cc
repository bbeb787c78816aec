#include "flotilla/report/plot_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flotilla {
namespace {

// The smallest of 1, 2 or 5 times a power of ten that is at least `step`.
double RoundStep(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

// The margin around a single value, which has no range.
double Spread(double value) { return value == 0 ? 1 : std::abs(value) * 0.1; }

}  // namespace

std::vector<double> Axis::Ticks() const {
  std::vector<double> ticks;
  const double slack = step * 1e-6;
  for (double i = std::ceil((low - slack) / step); i * step <= high + slack; ++i) {
    ticks.push_back(i == 0 ? 0 : i * step);  // never -0
  }
  return ticks;
}

std::string Axis::Text(double tick) const {
  const double most = std::max(std::abs(low), std::abs(high));
  if (most >= 1e10 || (most > 0 && step < 1e-6)) return fmt::format("{:.3g}", tick);
  const char* unit = most >= 1e7 ? "M" : most >= 1e4 ? "k" : "";
  const double scale = most >= 1e7 ? 1e6 : most >= 1e4 ? 1e3 : 1;
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step / scale) - 1e-9)));
  return fmt::format("{:.{}f}{}", tick / scale, decimals, tick == 0 ? "" : unit);
}

Axis MakeAxis(double low, double high, int ticks, bool exact) {
  // Differences below this fraction of the value are rounding errors, not a range.
  if (high - low <= 1e-9 * std::max(std::abs(low), std::abs(high))) {
    const double spread = Spread(low);
    low -= spread;
    high += spread;
    exact = false;
  }
  Axis axis{.low = low, .high = high, .step = RoundStep((high - low) / (ticks - 1))};
  if (!exact) {
    axis.low = std::floor(low / axis.step + 1e-6) * axis.step;
    axis.high = std::ceil(high / axis.step - 1e-6) * axis.step;
  }
  return axis;
}

std::vector<std::vector<PlotBucket>> ThinCurve(std::span<const PlotPoint> points,
                                               double column_width) {
  std::vector<std::vector<PlotBucket>> pieces(1);
  PlotBucket bucket;
  double squares = 0;  // sum of squared distances from the mean (Welford)
  double column = 0;
  bool gap = false;  // the column has points, and none of them is finite
  auto finish = [&] {
    if (bucket.count > 0) {
      const double deviation = std::sqrt(squares / bucket.count);
      bucket.low = bucket.y - deviation;
      bucket.high = bucket.y + deviation;
      pieces.back().push_back(bucket);
    } else if (gap && !pieces.back().empty()) {
      pieces.emplace_back();
    }
    bucket = {};
    squares = 0;
    gap = false;
  };
  for (const PlotPoint& point : points) {
    const double place = std::floor((point.x - points.front().x) / column_width);
    if (place != column) finish();
    column = place;
    if (!std::isfinite(point.y)) {
      gap = true;
      continue;
    }
    ++bucket.count;
    const double from_mean = point.y - bucket.y;
    bucket.x += (point.x - bucket.x) / bucket.count;
    bucket.y += from_mean / bucket.count;
    squares += from_mean * (point.y - bucket.y);
  }
  finish();
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

}  // namespace flotilla
