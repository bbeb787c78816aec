#include "flotilla/metric/delong.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

struct ScoredRows {
  std::vector<float> a, b, labels;
};

// Scores that are multiples of 1 / levels, so that few levels give many ties; b is a with noise.
ScoredRows MakeRows(int64_t count, uint64_t levels, uint64_t seed) {
  const RngKey key = RngKey(seed).With("delong");
  ScoredRows rows;
  for (int64_t i = 0; i < count; ++i) {
    const bool positive = key.Below(4 * i, 3) == 0;
    const uint64_t level = key.Below(4 * i + 1, levels) + (positive ? levels / 4 : 0);
    rows.a.push_back(static_cast<float>(level));
    rows.b.push_back(static_cast<float>(level + key.Below(4 * i + 2, levels / 2 + 1)));
    rows.labels.push_back(positive ? 1 : 0);
  }
  return rows;
}

double Wins(float positive, float negative) {
  return positive > negative ? 1 : positive == negative ? 0.5 : 0;
}

// The structural components of DeLong et al. as the paper defines them, in O(n^2), and the sample
// covariance matrix of the two AUCs.
struct NaiveAucs {
  double auc[2] = {0, 0};
  double covariance[2][2] = {{0, 0}, {0, 0}};
};

NaiveAucs NaiveDelong(const ScoredRows& rows) {
  std::vector<size_t> positives, negatives;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    (rows.labels[i] == 1 ? positives : negatives).push_back(i);
  }
  const std::vector<float>* scores[2] = {&rows.a, &rows.b};
  std::vector<double> v10[2], v01[2];
  const auto m = static_cast<double>(positives.size()), n = static_cast<double>(negatives.size());
  NaiveAucs naive;
  for (int k = 0; k < 2; ++k) {
    for (const size_t p : positives) {
      double wins = 0;
      for (const size_t q : negatives) wins += Wins((*scores[k])[p], (*scores[k])[q]);
      v10[k].push_back(wins / n);
      naive.auc[k] += wins / n / m;
    }
    for (const size_t q : negatives) {
      double wins = 0;
      for (const size_t p : positives) wins += Wins((*scores[k])[p], (*scores[k])[q]);
      v01[k].push_back(wins / m);
    }
  }
  for (int j = 0; j < 2; ++j) {
    for (int k = 0; k < 2; ++k) {
      double s10 = 0, s01 = 0;
      for (size_t i = 0; i < v10[0].size(); ++i) {
        s10 += (v10[j][i] - naive.auc[j]) * (v10[k][i] - naive.auc[k]);
      }
      for (size_t i = 0; i < v01[0].size(); ++i) {
        s01 += (v01[j][i] - naive.auc[j]) * (v01[k][i] - naive.auc[k]);
      }
      naive.covariance[j][k] = s10 / (m - 1) / m + s01 / (n - 1) / n;
    }
  }
  return naive;
}

TEST(DelongTest, AgreesWithTheStructuralComponentsWithAndWithoutTies) {
  for (const uint64_t levels : {uint64_t{3}, uint64_t{10}, uint64_t{1} << 22}) {
    for (const int64_t count : {12, 101, 700}) {
      const ScoredRows rows = MakeRows(count, levels, levels + count);
      const NaiveAucs naive = NaiveDelong(rows);
      const double variance =
          naive.covariance[0][0] + naive.covariance[1][1] - 2 * naive.covariance[0][1];
      const auto test = DelongTest(rows.a, rows.b, rows.labels);
      ASSERT_TRUE(test.ok()) << test.status();
      EXPECT_NEAR(test->a, naive.auc[0], 1e-12);
      EXPECT_NEAR(test->b, naive.auc[1], 1e-12);
      EXPECT_NEAR(test->difference, naive.auc[0] - naive.auc[1], 1e-12);
      EXPECT_NEAR(test->standard_error, std::sqrt(variance), 1e-12);
      EXPECT_NEAR(test->p_value,
                  std::erfc(std::abs(test->difference) / std::sqrt(variance) / std::sqrt(2)),
                  1e-12);
      EXPECT_GT(test->standard_error, 0);
      // Paired: b follows a, so the difference is known better than from two separate sets of rows.
      EXPECT_LT(test->standard_error, std::sqrt(naive.covariance[0][0] + naive.covariance[1][1]));
    }
  }
}

// Positives 3, 4, negatives 1, 2 for a: all pairs right. For b negative 2 scores as positive 3 does
// and negative 1 above both: the placements of the positives are 1/4 and 1/2, those of the
// negatives 0 and 3/4. Differences of positives 3/4, 1/2: variance of the mean 1/64; of negatives
// 1, 1/4: 9/64.
TEST(DelongTest, AgreesWithAnExampleByHand) {
  const std::vector<float> labels = {1, 1, 0, 0};
  const std::vector<float> a = {3, 4, 1, 2}, b = {3, 4, 5, 3};
  const auto test = DelongTest(a, b, labels);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_DOUBLE_EQ(test->a, 1);
  EXPECT_DOUBLE_EQ(test->b, 0.375);
  EXPECT_DOUBLE_EQ(test->difference, 0.625);
  EXPECT_DOUBLE_EQ(test->standard_error, std::sqrt(10.0 / 64));
  EXPECT_NEAR(test->p_value, 0.113846, 1e-6);  // z = 1.581139
}

TEST(DelongTest, ScoresInTheSameOrderDoNotDiffer) {
  const ScoredRows rows = MakeRows(200, 50, 7);
  std::vector<float> scaled = rows.a;
  for (float& score : scaled) score = 3 * score - 100;
  const auto test = DelongTest(rows.a, scaled, rows.labels);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ(test->difference, 0);
  EXPECT_EQ(test->standard_error, 0);
  EXPECT_EQ(test->p_value, 1);
}

TEST(DelongTest, ADifferenceWithoutAnErrorIsCertain) {
  const std::vector<float> labels = {1, 1, 0, 0};
  const auto test =
      DelongTest(std::vector<float>{2, 2, 1, 1}, std::vector<float>{1, 1, 2, 2}, labels);
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_EQ(test->difference, 1);
  EXPECT_EQ(test->p_value, 0);
}

TEST(DelongTest, UnusableRowsAreErrors) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores = {1, 2, 3, 4};
  const auto error = [&](std::vector<float> a, std::vector<float> labels) {
    return std::string(Message(DelongTest(a, scores, labels).status()));
  };
  EXPECT_THAT(error({1, nan, 3, 4}, {0, 1, 0, 1}), HasSubstr("row 1 has the scores nan and 2"));
  EXPECT_THAT(error(scores, {0, 1, nan, 1}), HasSubstr("row 2 has the scores 3 and 3"));
  EXPECT_THAT(error(scores, {0, 0, 0, 1}), HasSubstr("1 positives and 3 negatives"));
  EXPECT_THAT(error(scores, {1, 1, 1, 1}), HasSubstr("4 positives and 0 negatives"));
}

TEST(PairedMeansTest, AgreesWithAnExampleByHand) {
  // Differences 1, 2, 3: variance 1, of the mean 1/3.
  const auto test = PairedMeans(std::vector<double>{2, 4, 9}, std::vector<double>{1, 2, 6});
  ASSERT_TRUE(test.ok()) << test.status();
  EXPECT_DOUBLE_EQ(test->a, 5);
  EXPECT_DOUBLE_EQ(test->b, 3);
  EXPECT_DOUBLE_EQ(test->difference, 2);
  EXPECT_DOUBLE_EQ(test->standard_error, std::sqrt(1.0 / 3));
  EXPECT_NEAR(test->p_value, 0.000532, 1e-6);  // z = 3.464102
}

TEST(PairedMeansTest, UnusableRowsAreErrors) {
  const std::vector<double> losses = {1, 2};
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(std::string(Message(PairedMeans(losses, std::vector<double>{1, inf}).status())),
              HasSubstr("row 1 has the losses 2 and inf"));
  EXPECT_FALSE(PairedMeans(std::vector<double>{1}, std::vector<double>{2}).ok());
}

}  // namespace
}  // namespace flotilla
