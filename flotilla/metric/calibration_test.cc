#include "flotilla/metric/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

struct Row {
  float score;
  float label;
};

void Add(CalibrationMeter& meter, std::span<const Row> rows) {
  std::vector<float> scores, labels;
  for (const Row& row : rows) {
    scores.push_back(row.score);
    labels.push_back(row.label);
  }
  const FetchedValue inputs[] = {{scores, 1}, {labels, 1}};
  meter.Add({static_cast<int64_t>(rows.size()), inputs});
}

// Scores over many orders of magnitude; clicks are 1.25 times as frequent as predicted.
std::vector<Row> RandomRows(size_t n) {
  const RngKey key = RngKey(3).With("rows");
  std::vector<Row> rows(n);
  for (size_t i = 0; i < n; ++i) {
    const double p = std::exp(-6 * key.With(i).Uniform(0));
    rows[i] = {static_cast<float>(p), key.With(i).Uniform(1) < 1.25 * p ? 1.0f : 0.0f};
  }
  return rows;
}

// Reference implementation of the definition in calibration.h, by sorting all rows.
std::vector<CalibrationPart> NaiveDeciles(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](Row a, Row b) { return a.score < b.score; });
  std::vector<CalibrationPart> deciles(10);
  for (size_t i = 0; i < rows.size(); ++i) {
    CalibrationPart& part = deciles[i * 10 / rows.size()];
    ++part.rows;
    part.predicted += rows[i].score;
    part.clicks += rows[i].label > 0.5f;
  }
  return deciles;
}

TEST(CalibrationTest, IsPredictedOverActualClicks) {
  CalibrationMeter meter;
  EXPECT_TRUE(std::isnan(meter.Value()));
  Add(meter, std::vector<Row>{{0.5f, 1}, {0.25f, 0}});
  EXPECT_DOUBLE_EQ(meter.Value(), 0.75);
  Add(meter, std::vector<Row>{{0.75f, 1}, {0.5f, 0}});
  EXPECT_DOUBLE_EQ(meter.Value(), 1);
  EXPECT_EQ(meter.All().rows, 4);
  EXPECT_EQ(meter.All().clicks, 2);
}

TEST(CalibrationTest, TheLastColumnIsTheScore) {
  CalibrationMeter meter;
  const std::vector<float> predict = {0.8f, 0.2f, 0.4f, 0.6f}, label = {0, 1};
  const FetchedValue inputs[] = {{predict, 2}, {label, 1}};
  meter.Add({2, inputs});
  EXPECT_NEAR(meter.Value(), 0.8, 1e-7);
}

TEST(CalibrationTest, DecilesAreThoseOfSortedRowsWhereBucketsAreFine) {
  const std::vector<Row> rows = RandomRows(20000);
  CalibrationMeter meter;
  Add(meter, rows);
  const std::vector<CalibrationPart> deciles = meter.Deciles();
  const std::vector<CalibrationPart> naive = NaiveDeciles(rows);
  CalibrationPart all;
  for (size_t d = 0; d < 10; ++d) {
    all.rows += deciles[d].rows;
    all.predicted += deciles[d].predicted;
    all.clicks += deciles[d].clicks;
    // A bucket has about 20000 / (256 * 6 / log 2) = 9 rows.
    EXPECT_NEAR(deciles[d].rows, naive[d].rows, 30) << d;
    EXPECT_NEAR(deciles[d].predicted, naive[d].predicted, 0.02 * naive[d].predicted) << d;
    EXPECT_NEAR(deciles[d].clicks, naive[d].clicks, 0.05 * naive[d].clicks + 2) << d;
  }
  EXPECT_EQ(all.rows, 20000);
  EXPECT_NEAR(all.Ratio(), meter.Value(), 1e-9);
  // Above 0.8 a click is certain, so a little more than 1 / 1.25.
  EXPECT_NEAR(meter.Value(), 0.817, 0.05);
}

TEST(CalibrationTest, DecilesAreExactWhereNoBucketCrossesABorder) {
  std::vector<Row> rows;
  for (int d = 0; d < 10; ++d) {
    for (int i = 0; i < 7; ++i) rows.push_back({0.05f + 0.1f * d, i < d ? 1.0f : 0.0f});
  }
  std::reverse(rows.begin(), rows.end());
  CalibrationMeter meter;
  Add(meter, rows);
  const std::vector<CalibrationPart> naive = NaiveDeciles(rows);
  for (size_t d = 0; d < 10; ++d) {
    const CalibrationPart decile = meter.Deciles()[d];
    EXPECT_EQ(decile.rows, 7) << d;
    EXPECT_EQ(decile.clicks, naive[d].clicks) << d;
    EXPECT_DOUBLE_EQ(decile.predicted, naive[d].predicted) << d;
  }
  EXPECT_TRUE(std::isnan(meter.Deciles()[0].Ratio())) << "no clicks";
}

TEST(CalibrationTest, OneScoreForAllRowsIsOneDecile) {
  CalibrationMeter meter;
  Add(meter, std::vector<Row>(100, Row{0.5f, 1}));
  int filled = 0;
  for (const CalibrationPart& decile : meter.Deciles()) filled += decile.rows > 0;
  EXPECT_EQ(filled, 1);
  EXPECT_DOUBLE_EQ(meter.Value(), 0.5);
}

TEST(CalibrationTest, StatesAddUp) {
  const std::vector<Row> rows = RandomRows(1000);
  CalibrationMeter whole, left, right;
  Add(whole, rows);
  Add(left, std::span(rows).first(300));
  Add(right, std::span(rows).subspan(300));
  ASSERT_TRUE(left.Merge(right.State()).ok());
  EXPECT_NEAR(left.Value(), whole.Value(), 1e-12);
  for (size_t d = 0; d < 10; ++d) {
    EXPECT_EQ(left.Deciles()[d].rows, whole.Deciles()[d].rows);
    EXPECT_EQ(left.Deciles()[d].clicks, whole.Deciles()[d].clicks);
  }
  left.Reset();
  EXPECT_EQ(left.All().rows, 0);
  EXPECT_TRUE(std::isnan(left.Value()));
}

TEST(CalibrationTest, ScoresBeyondTheEndsAndNanAreToldApart) {
  CalibrationMeter meter;
  Add(meter, std::vector<Row>{{-1, 0}, {0, 0}, {1e-30f, 0}, {2, 1}, {1, 1}});
  EXPECT_EQ(meter.All().rows, 5);
  EXPECT_DOUBLE_EQ(meter.Value(), 1);
  Add(meter, std::vector<Row>{{NAN, 1}});
  EXPECT_TRUE(std::isnan(meter.Value()));
  EXPECT_EQ(meter.All().rows, 5);
}

}  // namespace
}  // namespace flotilla
