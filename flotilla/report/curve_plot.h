// Plots the curves of a run: loss and metrics over steps, one panel each, train and test.
// Plain SVG without scripts, fonts or other files, in colours that are readable on light and dark
// pages.
#pragma once

#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/report/metrics_log.h"

namespace flotilla {

struct CurvePlotOptions {
  std::string title;  // above the plot; may be empty
  int width = 860;    // pixels
  int panel_height = 230;
};

// Accepts any number of points, including none; figures that are not finite are gaps. Many points
// are drawn as their mean, with a band of one standard deviation to either side behind it. There is
// a panel for the loss and for each of the first three metrics that have figures. Points may be in
// any order. REQUIRES: width >= 300,
// panel_height >= 100.
std::string CurveSvg(std::span<const MetricsPoint> points, const CurvePlotOptions& options = {});

// Writes the plot to a file; replaces an existing one atomically. Errors name the file.
Status WriteCurveSvg(const std::string& path, std::span<const MetricsPoint> points,
                     const CurvePlotOptions& options = {});

}  // namespace flotilla
