#include "flotilla/base/human.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace flotilla {
namespace {

TEST(HumanTest, CountsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(HumanCount(0), "0");
  EXPECT_EQ(HumanCount(999.4), "999");
  EXPECT_EQ(HumanCount(1000), "1.00 k");
  EXPECT_EQ(HumanCount(31'234), "31.2 k");
  EXPECT_EQ(HumanCount(999'499), "999 k");
  EXPECT_EQ(HumanCount(999'600), "1.00 M");
  EXPECT_EQ(HumanCount(3'104'000), "3.10 M");
  EXPECT_EQ(HumanCount(9'996), "10.0 k");
  EXPECT_EQ(HumanCount(2.5e22), "25000 E");
  EXPECT_EQ(HumanCount(std::nan("")), "nan");
}

TEST(HumanTest, SecondsGrowIntoMinutesHoursAndDays) {
  EXPECT_EQ(HumanSeconds(0), "0.00 s");
  EXPECT_EQ(HumanSeconds(0.999), "1.0 s");
  EXPECT_EQ(HumanSeconds(9.46), "9.5 s");
  EXPECT_EQ(HumanSeconds(9.96), "10 s");
  EXPECT_EQ(HumanSeconds(59.4), "59 s");
  EXPECT_EQ(HumanSeconds(59.6), "1:00");
  EXPECT_EQ(HumanSeconds(72), "1:12");
  EXPECT_EQ(HumanSeconds(7500), "2:05:00");
  EXPECT_EQ(HumanSeconds(3 * 86400 + 4 * 3600), "3 d 04:00");
  EXPECT_EQ(HumanSeconds(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(HumanSeconds(-1), "?");
}

TEST(HumanTest, AShareIsFullOnlyWhenAllIsDone) {
  EXPECT_EQ(HumanShare(0), "0 %");
  EXPECT_EQ(HumanShare(0.434), "43 %");
  EXPECT_EQ(HumanShare(0.999), "99 %");
  EXPECT_EQ(HumanShare(1), "100 %");
  EXPECT_EQ(HumanShare(1.7), "100 %");
  EXPECT_EQ(HumanShare(-0.1), "0 %");
}

TEST(HumanFigureTest, LongNumbersHaveAnExponent) {
  EXPECT_EQ(HumanFigure(0.43125), "0.4313");
  EXPECT_EQ(HumanFigure(-123456.5), "-123456.5000");
  EXPECT_EQ(HumanFigure(192254163055331991997841932288.0), "1.923e+29");
  EXPECT_EQ(HumanFigure(std::nan("")), "nan");
}

}  // namespace
}  // namespace flotilla
