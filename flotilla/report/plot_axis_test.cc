#include "flotilla/report/plot_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace flotilla {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Texts(const Axis& axis) {
  std::vector<std::string> texts;
  for (const double tick : axis.Ticks()) texts.push_back(axis.Text(tick));
  return texts;
}

TEST(AxisTest, EndsAtRoundNumbersAroundTheRange) {
  EXPECT_THAT(Texts(MakeAxis(0.61, 0.79, 5)), ElementsAre("0.60", "0.65", "0.70", "0.75", "0.80"));
  EXPECT_THAT(Texts(MakeAxis(-0.3, 1.7, 5)),
              ElementsAre("-0.5", "0.0", "0.5", "1.0", "1.5", "2.0"));
  EXPECT_THAT(Texts(MakeAxis(0, 800, 5)), ElementsAre("0", "200", "400", "600", "800"));
}

TEST(AxisTest, LargeNumbersHaveAUnit) {
  EXPECT_THAT(Texts(MakeAxis(0, 100'000, 5)), ElementsAre("0", "50k", "100k"));
  EXPECT_THAT(Texts(MakeAxis(0, 2e7, 5)), ElementsAre("0", "5M", "10M", "15M", "20M"));
  EXPECT_THAT(Texts(MakeAxis(12'000, 12'400, 5)),
              ElementsAre("12.0k", "12.1k", "12.2k", "12.3k", "12.4k"));
}

TEST(AxisTest, AnExactAxisKeepsItsEndsAndHasRoundTicksWithin) {
  const Axis axis = MakeAxis(37, 963, 6, /*exact=*/true);
  EXPECT_EQ(axis.low, 37);
  EXPECT_EQ(axis.high, 963);
  EXPECT_THAT(axis.Ticks(), ElementsAre(200, 400, 600, 800));
  EXPECT_EQ(axis.Place(500), 0.5);
}

TEST(AxisTest, AnEmptyRangeIsWidened) {
  for (const double value : {0.0, 1.0, -5.0, 0.6931, 1e-12, 1e15}) {
    const Axis axis = MakeAxis(value, value, 5);
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
    EXPECT_GE(axis.Ticks().size(), 2);
  }
}

TEST(AxisTest, AnyRangeHasAFewTicksThatHoldIt) {
  for (double low = 1e-8; low < 1e12; low *= 7.3) {
    for (const double width : {1e-6, 0.01, 0.3, 1.0, 4.0, 900.0}) {
      const Axis axis = MakeAxis(low, low * (1 + width), 5);
      EXPECT_LE(axis.low, low * (1 + 1e-9));
      EXPECT_GE(axis.high, low * (1 + width) * (1 - 1e-9));
      EXPECT_GE(axis.Ticks().size(), 2) << low << " " << width;
      EXPECT_LE(axis.Ticks().size(), 7) << low << " " << width;
    }
  }
}

TEST(ThinCurveTest, FewPointsStayAsTheyAre) {
  const std::vector<PlotPoint> points = {{0, 1}, {10, 3}, {20, 2}};
  const auto pieces = ThinCurve(points, 2);
  ASSERT_EQ(pieces.size(), 1);
  ASSERT_EQ(pieces[0].size(), 3);
  EXPECT_EQ(pieces[0][1].x, 10);
  EXPECT_EQ(pieces[0][1].y, 3);
  EXPECT_EQ(pieces[0][1].count, 1);
}

TEST(ThinCurveTest, PointsOfOneColumnBecomeTheirMeanAndDeviation) {
  const std::vector<PlotPoint> points = {{0, 1}, {1, 5}, {2, 3}, {3, 7}};
  const auto pieces = ThinCurve(points, 2);
  ASSERT_EQ(pieces.size(), 1);
  ASSERT_EQ(pieces[0].size(), 2);
  EXPECT_EQ(pieces[0][0].x, 0.5);
  EXPECT_EQ(pieces[0][0].y, 3);
  EXPECT_EQ(pieces[0][0].low, 1);
  EXPECT_EQ(pieces[0][0].high, 5);
  EXPECT_EQ(pieces[0][1].y, 5);
  const std::vector<PlotPoint> three = {{0, 1}, {1, 2}, {2, 6}};
  const PlotBucket bucket = ThinCurve(three, 9)[0][0];
  EXPECT_EQ(bucket.y, 3);
  EXPECT_NEAR(bucket.high - bucket.y, std::sqrt((4 + 1 + 9) / 3.0), 1e-12);
  EXPECT_NEAR(bucket.y - bucket.low, std::sqrt((4 + 1 + 9) / 3.0), 1e-12);
}

TEST(ThinCurveTest, ValuesThatAreNotFiniteAreGaps) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<PlotPoint> points = {{0, nan}, {1, 1}, {2, 2},  {3, inf},
                                         {4, nan}, {5, 3}, {6, nan}};
  const auto pieces = ThinCurve(points, 1);
  ASSERT_EQ(pieces.size(), 2);
  EXPECT_EQ(pieces[0].size(), 2);
  EXPECT_EQ(pieces[1].size(), 1);
  EXPECT_TRUE(ThinCurve(std::vector<PlotPoint>{{0, nan}, {9, nan}}, 1).empty());
  EXPECT_TRUE(ThinCurve({}, 1).empty());
}

TEST(ThinCurveTest, AHundredThousandPointsBecomeAsManyAsThereAreColumns) {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({static_cast<double>(i), std::sin(i)});
  const auto pieces = ThinCurve(points, 100'000 / 350.0);
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].size(), 350);
  int count = 0;
  for (const PlotBucket& bucket : pieces[0]) count += bucket.count;
  EXPECT_EQ(count, 100'000);
}

}  // namespace
}  // namespace flotilla
