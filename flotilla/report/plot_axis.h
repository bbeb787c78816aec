// Axes and curves of a picture, without the picture: round ticks, their texts, and curves thinned
// to what fits the width. curve_plot.h draws them.
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
  // A tick's text, with as many decimals as the step needs; k and M for large numbers.
  std::string Text(double tick) const;
  // Where a value stands: 0 at low, 1 at high.
  double Place(double value) const { return (value - low) / (high - low); }
};

// An axis with about `ticks` ticks that holds [low, high]; an empty range is widened. With `exact`
// it begins and ends at low and high themselves.
// REQUIRES: both finite, low <= high, ticks >= 2.
Axis MakeAxis(double low, double high, int ticks, bool exact = false);

struct PlotPoint {
  double x = 0;
  double y = 0;  // not finite: the curve has a gap here
};

// What stands for the points of one column of the picture.
struct PlotBucket {
  double x = 0;     // their mean
  double y = 0;     // their mean
  double low = 0;   // y less the standard deviation of the points
  double high = 0;  // y and the standard deviation
  int count = 0;
};

// Points in ascending order of x become connected pieces of a curve, at most one bucket for each
// column_width of x. A gap ends a piece: it is in none.
// REQUIRES: column_width > 0; x finite.
std::vector<std::vector<PlotBucket>> ThinCurve(std::span<const PlotPoint> points,
                                               double column_width);

}  // namespace flotilla
