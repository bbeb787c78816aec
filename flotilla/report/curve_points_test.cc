#include "flotilla/report/curve_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using Kind = MetricsPoint::Kind;

std::vector<int64_t> StepsOf(const CurvePoints& points, Kind kind = Kind::kTrain) {
  std::vector<int64_t> steps;
  for (const MetricsPoint& point : points.All()) {
    if (point.kind == kind) steps.push_back(point.step);
  }
  return steps;
}

void AddSteps(int64_t begin, int64_t end, CurvePoints* points, Kind kind = Kind::kTrain) {
  for (int64_t step = begin; step < end; ++step) {
    points->Add({.kind = kind, .step = step, .metrics = {{"auc", static_cast<double>(step)}}});
  }
}

TEST(CurvePointsTest, KeepsAllUntilThereAreTooMany) {
  CurvePoints points(4);
  EXPECT_TRUE(points.All().empty());
  AddSteps(0, 4, &points);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 1, 2, 3));
}

TEST(CurvePointsTest, DoublesTheDistanceAndKeepsTheLatest) {
  CurvePoints points(4);
  AddSteps(0, 5, &points);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 2, 4));
  AddSteps(5, 6, &points);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 2, 4, 5));
  AddSteps(6, 7, &points);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 2, 4, 6));
  AddSteps(7, 8, &points);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 4, 7));
  AddSteps(8, 14, &points);
  EXPECT_THAT(StepsOf(points), ElementsAre(0, 8, 13));
  for (const MetricsPoint& point : points.All()) {
    EXPECT_EQ(point.metrics, (MetricValues{{"auc", static_cast<double>(point.step)}}));
  }
}

TEST(CurvePointsTest, ALongRunIsBoundedAndEvenlyCovered) {
  for (const size_t most : {2, 3, 7, 64}) {
    CurvePoints points(most);
    for (int64_t step = 0; step < 10'000; ++step) {
      AddSteps(step, step + 1, &points);
      ASSERT_LE(points.All().size(), most);
    }
    const std::vector<int64_t> steps = StepsOf(points);
    EXPECT_EQ(steps.front(), 0);
    EXPECT_EQ(steps.back(), 9'999);
    for (size_t i = 2; i + 1 < steps.size(); ++i) {
      EXPECT_EQ(steps[i] - steps[i - 1], steps[1]);
    }
  }
}

TEST(CurvePointsTest, EachKindHasItsOwnBound) {
  CurvePoints points(4);
  AddSteps(0, 100, &points);
  AddSteps(0, 3, &points, Kind::kEpoch);
  AddSteps(0, 5, &points, Kind::kTest);
  EXPECT_THAT(StepsOf(points, Kind::kEpoch), ElementsAre(0, 1, 2));
  EXPECT_THAT(StepsOf(points, Kind::kTest), ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace flotilla
