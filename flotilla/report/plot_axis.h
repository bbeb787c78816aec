// The computations behind a plot: round ticks, their labels, and curves reduced to the resolution
// of the plot. curve_plot.h draws them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace flotilla {

// A range that ends at round numbers.
struct Axis {
  double low = 0;
  double high = 1;
  double step = 1;  // between ticks; low and high are ticks unless the range was given as exact

  // The round numbers within [low, high].
  std::vector<double> Ticks() const;
  // The label of a tick, with as many decimals as the step needs; k and M for large numbers.
  std::string Text(double tick) const;
  // The position of a value: 0 at low, 1 at high.
  double Place(double value) const { return (value - low) / (high - low); }
};

// An axis with about `ticks` ticks that covers [low, high]; an empty range is widened. With `exact`
// it begins at low and ends at high.
// REQUIRES: both finite, low <= high, ticks >= 2.
Axis MakeAxis(double low, double high, int ticks, bool exact = false);

struct PlotPoint {
  double x = 0;
  double y = 0;  // not finite: the curve has a gap here
};

// The summary of the points of one column of the plot.
struct PlotBucket {
  double x = 0;     // their mean
  double y = 0;     // their mean
  double low = 0;   // y minus the standard deviation of the points
  double high = 0;  // y plus the standard deviation of the points
  int count = 0;
};

// Converts points in ascending order of x to connected pieces of a curve, with at most one bucket
// per column_width of x. A gap ends a piece and belongs to none.
// REQUIRES: column_width > 0; x finite.
std::vector<std::vector<PlotBucket>> ThinCurve(std::span<const PlotPoint> points,
                                               double column_width);

}  // namespace flotilla
