#include "flotilla/report/curve_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "flotilla/base/human.h"
#include "flotilla/base/output_file.h"
#include "flotilla/report/plot_axis.h"

namespace flotilla {
namespace {

using Kind = MetricsPoint::Kind;

constexpr double kLeft = 64, kRight = 66, kTitle = 34, kPanelGap = 34, kBottom = 48;
constexpr double kPixelsPerColumn = 2;
constexpr size_t kMaxMarkers = 60;       // of series with a point per epoch
constexpr size_t kMaxTrainMarkers = 20;  // of the others
constexpr double kNearBeginning = 0.2;   // of the last step
constexpr int kMaxEpochLines = 40;
constexpr size_t kMaxPanels = 4;  // including the panel of the loss
constexpr const char* kTrainColour = "#3a86d8";
constexpr const char* kMeanColour = "#2a9d8f";
constexpr const char* kTestColour = "#e76f1c";
constexpr const char* kLastBatches = "train, last batches";

struct Series {
  std::string label;
  const char* colour;
  double line_width;
  bool markers;  // a dot for each point: one point per epoch
  std::vector<PlotPoint> points;
};

struct Panel {
  std::string name;
  std::vector<Series> series;
};

// The rectangle of a panel in pixels, and the ranges of its axes.
struct Frame {
  double left, top, width, height;
  Axis x, y;

  double X(double value) const { return left + width * x.Place(value); }
  double Y(double value) const { return top + height * (1 - y.Place(value)); }
  // Slightly more than a pixel, so that the last point does not get its own column.
  double ColumnWidth() const { return (x.high - x.low) * (1 + 1e-9) * kPixelsPerColumn / width; }
};

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
      escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

bool HasFinite(const Series& series) {
  return std::any_of(series.points.begin(), series.points.end(),
                     [](const PlotPoint& point) { return std::isfinite(point.y); });
}

// The points of one kind, with the figure of each.
template <typename Figure>
Series MakeSeries(std::span<const MetricsPoint> points, Kind kind, Figure figure, Series series) {
  for (const MetricsPoint& point : points) {
    if (point.kind != kind) continue;
    series.points.push_back({static_cast<double>(point.step), figure(point)});
  }
  return series;
}

// A panel of the series that have data; `batch` is the figure of the points inside epochs.
template <typename Batch, typename Figure>
Panel MakePanel(std::span<const MetricsPoint> points, std::string name, const char* batch_label,
                Batch batch, Figure figure) {
  Panel panel{.name = std::move(name), .series = {}};
  for (Series& series : std::vector<Series>{
           MakeSeries(points, Kind::kTrain, batch, {batch_label, kTrainColour, 1.6, false, {}}),
           MakeSeries(points, Kind::kEpoch, figure,
                      {"train, whole epoch", kMeanColour, 1.6, true, {}}),
           MakeSeries(points, Kind::kTest, figure, {"test", kTestColour, 2.2, true, {}})}) {
    if (HasFinite(series)) panel.series.push_back(std::move(series));
  }
  return panel;
}

// Over the last batches if the metric keeps such a window, otherwise over the epoch so far.
Panel MetricPanel(std::span<const MetricsPoint> points, const std::string& name) {
  const bool has_window = std::any_of(points.begin(), points.end(), [&](const MetricsPoint& point) {
    return HasMetric(point.window_metrics, name);
  });
  return MakePanel(
      points, DisplayName(name), has_window ? kLastBatches : "train, epoch so far",
      [&](const MetricsPoint& point) {
        return MetricValue(has_window ? point.window_metrics : point.metrics, name);
      },
      [&](const MetricsPoint& point) { return MetricValue(point.metrics, name); });
}

// The panel of the loss, and those of the first metrics that have data.
std::vector<Panel> MakePanels(std::span<const MetricsPoint> points) {
  const auto loss = [](const MetricsPoint& point) { return point.loss; };
  std::vector<Panel> panels = {MakePanel(points, "loss", kLastBatches, loss, loss)};
  std::vector<std::string> names;
  for (const MetricsPoint& point : points) {
    for (const MetricValues* values : {&point.metrics, &point.window_metrics}) {
      for (const auto& [name, value] : *values) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
  }
  for (const std::string& name : names) {
    if (panels.size() == kMaxPanels) break;
    Panel panel = MetricPanel(points, name);
    if (!panel.series.empty()) panels.push_back(std::move(panel));
  }
  return panels;
}

Axis StepAxis(std::span<const MetricsPoint> points) {
  if (points.empty()) return MakeAxis(0, 1, 2);
  const auto step = [](const MetricsPoint& a, const MetricsPoint& b) { return a.step < b.step; };
  const auto [first, last] = std::minmax_element(points.begin(), points.end(), step);
  auto low = static_cast<double>(first->step);
  const auto high = static_cast<double>(last->step);
  // The axis of a run that was recorded from its beginning starts at 0, not at its first report.
  if (last != first && low > 0 && low < kNearBeginning * high) low = 0;
  return MakeAxis(low, high, 8, /*exact=*/true);
}

// The range covers the means that are drawn, not every point: a single outlier does not flatten the
// curve.
Axis FigureAxis(const Panel& panel, double column_width) {
  double low = INFINITY, high = -INFINITY;
  for (const Series& series : panel.series) {
    for (const auto& piece : ThinCurve(series.points, column_width)) {
      for (const PlotBucket& bucket : piece) {
        low = std::min(low, bucket.y);
        high = std::max(high, bucket.y);
      }
    }
  }
  return low <= high ? MakeAxis(low, high, 5) : MakeAxis(0, 1, 5);
}

class Picture {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void DrawAxes(const Frame& frame, const Panel& panel, bool with_steps, Picture* out) {
  const double bottom = frame.top + frame.height, right = frame.left + frame.width;
  for (const double tick : frame.y.Ticks()) {
    const double y = frame.Y(tick);
    out->Add(R"(<path class="grid" d="M{:.1f} {:.1f}H{:.1f}"/>)", frame.left, y, right);
    out->Add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", frame.left - 8, y + 4,
             frame.y.Text(tick));
  }
  for (const double tick : frame.x.Ticks()) {
    const double x = frame.X(tick);
    out->Add(R"(<path class="axis" d="M{:.1f} {:.1f}v5"/>)", x, bottom);
    if (!with_steps) continue;
    out->Add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>)", x, bottom + 20,
             frame.x.Text(tick));
  }
  out->Add(R"(<path class="axis" d="M{:.1f} {:.1f}V{:.1f}H{:.1f}"/>)", frame.left, frame.top,
           bottom, right);
  out->Add(R"(<text class="name" x="{:.1f}" y="{:.1f}">{}</text>)", frame.left, frame.top - 10,
           Escaped(panel.name));
  if (with_steps) {
    out->Add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">step</text>)",
             frame.left + frame.width / 2, bottom + 40);
  }
}

// From right to left above the panel, so that it never covers a curve.
void DrawLegend(const Frame& frame, const Panel& panel, Picture* out) {
  constexpr double kCharacter = 6.4, kMark = 24, kSpace = 18;
  double right = frame.left + frame.width;
  for (auto it = panel.series.rbegin(); it != panel.series.rend(); ++it) {
    const double begin = right - static_cast<double>(it->label.size()) * kCharacter;
    const double y = frame.top - 14;
    out->Add(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", begin, y + 4, it->label);
    out->Add(
        R"(<path d="M{:.1f} {:.1f}h18" stroke="{}" stroke-width="{}" stroke-linecap="round"/>)",
        begin - kMark, y, it->colour, it->line_width + 0.6);
    if (it->markers) {
      out->Add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.4" fill="{}"/>)", begin - kMark + 9, y,
               it->colour);
    }
    right = begin - kMark - kSpace;
  }
}

// The band of scatter behind the mean of the points: a path from left to right and back.
void DrawBand(const Frame& frame, std::span<const PlotBucket> piece, const char* colour,
              Picture* out) {
  if (std::none_of(piece.begin(), piece.end(), [](const auto& b) { return b.count > 1; })) return;
  std::string path;
  for (const PlotBucket& bucket : piece) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', frame.X(bucket.x),
                        frame.Y(bucket.high));
  }
  for (auto it = piece.rbegin(); it != piece.rend(); ++it) {
    path += fmt::format("L{:.1f} {:.1f}", frame.X(it->x), frame.Y(it->low));
  }
  out->Add(R"(<path d="{}Z" fill="{}" fill-opacity="0.18"/>)", path, colour);
}

void DrawSeries(const Frame& frame, const Series& series, Picture* out) {
  const bool markers = series.points.size() <= (series.markers ? kMaxMarkers : kMaxTrainMarkers);
  for (const auto& piece : ThinCurve(series.points, frame.ColumnWidth())) {
    DrawBand(frame, piece, series.colour, out);
    std::string path;
    for (const PlotBucket& bucket : piece) {
      const double x = frame.X(bucket.x), y = frame.Y(bucket.y);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', x, y);
      if (!markers && piece.size() > 1) continue;
      out->Add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.4" fill="{}"/>)", x, y, series.colour);
    }
    if (piece.size() == 1) continue;
    out->Add(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round"/>)",
             path, series.colour, series.line_width);
  }
}

// The last finite figure of the most important curve, in the right margin.
void DrawLastFigure(const Frame& frame, const Panel& panel, Picture* out) {
  if (panel.series.empty()) return;
  const Series& series = panel.series.back();
  for (auto it = series.points.rbegin(); it != series.points.rend(); ++it) {
    if (!std::isfinite(it->y)) continue;
    out->Add(R"(<text class="last" x="{:.1f}" y="{:.1f}" style="fill:{}">{}</text>)",
             frame.left + frame.width + 8,
             std::clamp(frame.Y(it->y), frame.top, frame.top + frame.height) + 4, series.colour,
             HumanFigure(it->y));
    return;
  }
}

// A dotted line at the beginning of each epoch except the first.
void DrawEpochs(const Frame& frame, std::span<const MetricsPoint> points, Picture* out) {
  if (points.empty() || points.back().epoch - points.front().epoch > kMaxEpochLines) return;
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i].epoch <= points[i - 1].epoch) continue;
    out->Add(R"(<path class="epoch" d="M{:.1f} {:.1f}v{:.1f}"/>)",
             frame.X(static_cast<double>(points[i - 1].step)), frame.top, frame.height);
  }
}

void DrawPanel(const Frame& frame, const Panel& panel, std::span<const MetricsPoint> points,
               bool is_last, int number, Picture* out) {
  DrawAxes(frame, panel, is_last, out);
  DrawLegend(frame, panel, out);
  DrawEpochs(frame, points, out);
  out->Add(R"(<clipPath id="panel{}"><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)"
           R"(</clipPath>)",
           number, frame.left - 4, frame.top - 4, frame.width + 8, frame.height + 8);
  out->Add(R"svg(<g clip-path="url(#panel{})">)svg", number);
  for (const Series& series : panel.series) DrawSeries(frame, series, out);
  out->Add("</g>");
  if (panel.series.empty()) {
    out->Add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">no {} to show</text>)",
             frame.left + frame.width / 2, frame.top + frame.height / 2, Escaped(panel.name));
  }
  DrawLastFigure(frame, panel, out);
}

constexpr char kStyle[] =
    "<style>text{font:12px system-ui,sans-serif;fill:#7a7f87}"
    ".name,.last,.title{font-weight:600}.title{font-size:15px}.name{font-size:13px}"
    ".grid{stroke:#8a8f98;stroke-opacity:.22}.axis{stroke:#8a8f98;fill:none}"
    ".epoch{stroke:#8a8f98;stroke-opacity:.6;stroke-dasharray:2 4}</style>";

}  // namespace

std::string CurveSvg(std::span<const MetricsPoint> points, const CurvePlotOptions& options) {
  std::vector<MetricsPoint> ordered(points.begin(), points.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  const std::vector<Panel> panels = MakePanels(ordered);
  const double title = options.title.empty() ? 0 : kTitle;
  const double panel_step = options.panel_height + kPanelGap;
  const double height = title + panel_step * static_cast<double>(panels.size()) + kBottom;
  Picture out;
  out.Add(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1:.0f}" )"
          R"(viewBox="0 0 {0} {1:.0f}" role="img">)",
          options.width, height);
  out.Add("<title>{}</title>", options.title.empty() ? "Training curves" : Escaped(options.title));
  out.Add("{}", kStyle);
  if (title > 0) {
    out.Add(R"(<text class="title" x="{:.1f}" y="24">{}</text>)", kLeft, Escaped(options.title));
  }
  for (size_t i = 0; i < panels.size(); ++i) {
    Frame frame{.left = kLeft,
                .top = title + kPanelGap + panel_step * static_cast<double>(i),
                .width = options.width - kLeft - kRight,
                .height = static_cast<double>(options.panel_height),
                .x = StepAxis(ordered),
                .y = {}};
    frame.y = FigureAxis(panels[i], frame.ColumnWidth());
    DrawPanel(frame, panels[i], ordered, i + 1 == panels.size(), static_cast<int>(i), &out);
  }
  out.Add("</svg>");
  return std::move(out).text();
}

Status WriteCurveSvg(const std::string& path, std::span<const MetricsPoint> points,
                     const CurvePlotOptions& options) {
  return WriteFile(path, CurveSvg(points, options));
}

}  // namespace flotilla
