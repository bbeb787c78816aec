#include "flotilla/report/curve_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Kind = MetricsPoint::Kind;

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Every tag that opens also closes, in the right order, and no figure is broken.
void CheckSvg(const std::string& svg) {
  std::vector<std::string> open;
  for (size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, Not(HasSubstr("script")));
}

std::vector<MetricsPoint> PointsOf(int64_t steps, int64_t epochs) {
  std::vector<MetricsPoint> points;
  for (int64_t step = 1; step <= steps; ++step) {
    const double t = static_cast<double>(step) / static_cast<double>(steps);
    const double noise = 0.02 * std::sin(static_cast<double>(step) * 12.9898);
    const int64_t epoch = (step - 1) * epochs / steps;
    points.push_back({.epoch = epoch,
                      .step = step,
                      .loss = 0.45 + 0.2 * std::exp(-6 * t) + noise,
                      .window_metrics = {{"auc", 0.78 - 0.25 * std::exp(-5 * t) + noise / 3}}});
    if (step == steps || step * epochs / steps != epoch) {
      const double loss = 0.46 + 0.1 * std::exp(-5 * t), auc = 0.77 - 0.1 * std::exp(-5 * t);
      points.push_back({Kind::kEpoch, epoch, step, loss, {{"auc", auc}}});
      points.push_back({Kind::kTest, epoch, step, loss + 0.01, {{"auc", auc - 0.01}}});
    }
  }
  return points;
}

TEST(CurvePlotTest, DrawsBothPanelsWithALegendAndTheLastTestFigure) {
  const std::string svg = CurveSvg(PointsOf(300, 3), {.title = "ctr_dnn <3 epochs> & more"});
  CheckSvg(svg);
  EXPECT_THAT(svg, HasSubstr(">loss</text>"));
  EXPECT_THAT(svg, HasSubstr(">AUC</text>"));
  EXPECT_THAT(svg, HasSubstr("ctr_dnn &lt;3 epochs&gt; &amp; more"));
  EXPECT_THAT(svg, HasSubstr(">step</text>"));
  EXPECT_EQ(CountOf(svg, ">test</text>"), 2);
  EXPECT_EQ(CountOf(svg, "class=\"epoch\""), 4);  // two ends within, in both panels
  EXPECT_THAT(svg, HasSubstr(">0.7593</text>"));  // 0.77 - 0.1 e^-5 - 0.01
}

TEST(CurvePlotTest, WithoutAucThereIsOnePanel) {
  const std::string svg =
      CurveSvg(std::vector<MetricsPoint>{{.step = 1, .loss = 2}, {.step = 9, .loss = 1}});
  CheckSvg(svg);
  EXPECT_THAT(svg, Not(HasSubstr("AUC")));
}

TEST(CurvePlotTest, EveryMetricWithFiguresHasAPanelUpToFour) {
  const std::vector<MetricsPoint> points = {
      {.step = 1, .loss = 2, .metrics = {{"rmse", 0.5}, {"unknown", kUndefined}}},
      {.kind = Kind::kTest,
       .step = 2,
       .loss = 1,
       .metrics = {{"rmse", 0.25}, {"a<b", 1}, {"auc", 0.75}, {"fifth", 1}}}};
  const std::string svg = CurveSvg(points);
  CheckSvg(svg);
  EXPECT_EQ(CountOf(svg, "<clipPath"), 4);
  EXPECT_THAT(svg, HasSubstr(">rmse</text>"));
  EXPECT_THAT(svg, HasSubstr(">train, epoch so far</text>")) << "it has no window";
  EXPECT_THAT(svg, HasSubstr(">a&lt;b</text>"));
  EXPECT_THAT(svg, HasSubstr(">AUC</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("unknown")));
  EXPECT_THAT(svg, Not(HasSubstr("fifth")));
}

TEST(CurvePlotTest, OnePointIsADotAndNoneSaysSo) {
  const std::string one = CurveSvg(std::vector<MetricsPoint>{{.step = 5, .loss = 0.7}});
  CheckSvg(one);
  EXPECT_EQ(CountOf(one, "<circle"), 1);
  const std::string none = CurveSvg({});
  CheckSvg(none);
  EXPECT_THAT(none, HasSubstr("no loss to show"));
}

TEST(CurvePlotTest, FiguresThatAreNotFiniteAreGaps) {
  std::vector<MetricsPoint> points = PointsOf(100, 1);
  points[50].loss = std::nan("");
  points[60].loss = std::numeric_limits<double>::infinity();
  const std::string whole = CurveSvg(PointsOf(100, 1)), torn = CurveSvg(points);
  CheckSvg(torn);
  EXPECT_EQ(CountOf(torn, "fill=\"none\" stroke=\"#3a86d8\""),
            CountOf(whole, "fill=\"none\" stroke=\"#3a86d8\"") + 2);
  for (MetricsPoint& point : points) point.loss = std::nan("");
  CheckSvg(CurveSvg(points));
}

TEST(CurvePlotTest, AHundredThousandPointsStayASmallPicture) {
  const std::string svg = CurveSvg(PointsOf(100'000, 5));
  CheckSvg(svg);
  EXPECT_LT(svg.size(), 100'000);
  EXPECT_THAT(svg, HasSubstr("fill-opacity"));  // the band behind the mean
  EXPECT_THAT(svg, HasSubstr(">100k</text>"));
}

TEST(CurvePlotTest, TheOrderOfPointsDoesNotMatter) {
  std::vector<MetricsPoint> points = PointsOf(50, 1), back(points.rbegin(), points.rend());
  for (std::vector<MetricsPoint>* list : {&points, &back}) {
    std::erase_if(*list, [](const MetricsPoint& point) { return point.kind != Kind::kTrain; });
  }
  EXPECT_EQ(CurveSvg(points), CurveSvg(back));
}

TEST(CurvePlotTest, WritesAFileAndNamesItInErrors) {
  const TempDir dir;
  const std::string path = dir.path() + "/curve.svg";
  ASSERT_TRUE(WriteCurveSvg(path, PointsOf(10, 1)).ok());
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), CurveSvg(PointsOf(10, 1)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
  const Status status = WriteCurveSvg(dir.path() + "/none/curve.svg", {});
  EXPECT_THAT(std::string(Message(status)), HasSubstr("none/curve.svg: cannot be written"));
}

}  // namespace
}  // namespace flotilla
