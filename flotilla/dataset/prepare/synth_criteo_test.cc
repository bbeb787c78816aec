#include "flotilla/dataset/prepare/synth_criteo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

SynthCriteo MakeSynth(const SynthCriteoOptions& options = {}) {
  StatusOr<SynthCriteo> synth = SynthCriteo::Make(options);
  EXPECT_TRUE(synth.ok()) << synth.status();
  return *std::move(synth);
}

Batch ParseText(std::string_view text) {
  StatusOr<std::unique_ptr<CriteoParser>> parser = CriteoParser::Make(CriteoInputs(), {});
  Batch batch;
  batch.fields.resize(CriteoInputs().size());
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const Status status = (*parser)->Parse(text.substr(0, end), &batch);
    EXPECT_TRUE(status.ok()) << status;
    text.remove_prefix(end + 1);
  }
  return batch;
}

TEST(SynthCriteoTest, AnySplitOfTheRowsGivesTheSameText) {
  const SynthCriteo synth = MakeSynth({.seed = 9});
  std::string whole, parts, later;
  synth.Rows(0, 300, &whole);
  synth.Rows(100, 300, &later);
  synth.Rows(0, 100, &parts);
  EXPECT_EQ(whole, parts + later);
  std::string again;
  MakeSynth({.seed = 9}).Rows(0, 300, &again);
  EXPECT_EQ(whole, again);
}

TEST(SynthCriteoTest, AnotherSeedGivesOtherRows) {
  std::string a, b;
  MakeSynth({.seed = 1}).Row(0, &a);
  MakeSynth({.seed = 2}).Row(0, &b);
  EXPECT_NE(a, b);
}

TEST(SynthCriteoTest, EveryRowIsAGoodCriteoLine) {
  std::string text;
  const OracleScore score = MakeSynth().Rows(0, 2000, &text);
  const Batch batch = ParseText(text);
  EXPECT_EQ(batch.rows, 2000);
  EXPECT_EQ(score.rows(), 2000);
  const AlignedVector<float>& labels = batch.fields[27].values;
  EXPECT_EQ(score.clicks(), std::count(labels.begin(), labels.end(), 1.0f));
}

TEST(SynthCriteoTest, ClickRateIsTheOneAskedFor) {
  for (double rate : {0.05, 0.25, 0.6}) {
    std::string text;
    const OracleScore score = MakeSynth({.seed = 5, .click_rate = rate}).Rows(0, 20000, &text);
    EXPECT_NEAR(static_cast<double>(score.clicks()) / 20000, rate, 0.015);
  }
}

TEST(SynthCriteoTest, ProbabilitiesAreTrue) {
  // Among rows of about the same probability, the fraction of clicks must equal that probability.
  const SynthCriteo synth = MakeSynth({.seed = 6});
  std::vector<double> rows(10), clicks(10), sums(10);
  for (uint64_t i = 0; i < 40000; ++i) {
    std::string line;
    const double p = synth.Row(i, &line);
    const int bin = std::min(static_cast<int>(p * 10), 9);
    ++rows[bin];
    clicks[bin] += line[0] == '1';
    sums[bin] += p;
  }
  for (int bin = 0; bin < 10; ++bin) {
    if (rows[bin] < 200) continue;
    EXPECT_NEAR(clicks[bin] / rows[bin], sums[bin] / rows[bin], 4 * 0.5 / std::sqrt(rows[bin]));
  }
}

TEST(SynthCriteoTest, SignalDecidesTheBestAuc) {
  std::string text;
  const OracleScore none = MakeSynth({.signal = 0}).Rows(0, 20000, &text);
  const OracleScore usual = MakeSynth().Rows(0, 20000, &text);
  EXPECT_NEAR(none.auc(), 0.5, 1e-9);
  EXPECT_GT(usual.auc(), 0.78);
  EXPECT_LT(usual.auc(), 0.88);
  EXPECT_LT(usual.logloss(), none.logloss() - 0.1);
}

TEST(SynthCriteoTest, FrequentIdsFollowZipfsLaw) {
  std::string text;
  MakeSynth({.zipf_exponent = 1.0}).Rows(0, 20000, &text);
  const Batch batch = ParseText(text);
  std::map<uint64_t, int> count;
  for (uint64_t id : batch.fields[2].ids.ids) ++count[id];  // C2: 500 values, never missing
  std::vector<int> sorted;
  for (const auto& [id, n] : count) sorted.push_back(n);
  std::sort(sorted.rbegin(), sorted.rend());
  EXPECT_LE(sorted.size(), 500u);
  EXPECT_GT(sorted.size(), 450u);
  // Density 1/x: rank r has log((r + 1) / r) / log(501) of the rows.
  for (int r : {1, 2, 4, 8}) {
    const double expected = 20000 * std::log((r + 1.0) / r) / std::log(501.0);
    EXPECT_NEAR(sorted[r - 1], expected, 5 * std::sqrt(expected));
  }
}

TEST(SynthCriteoTest, CardinalityScaleAddsIdsToLargeColumns) {
  auto ids = [](double scale) {
    std::string text;
    MakeSynth({.zipf_exponent = 0.5, .cardinality_scale = scale}).Rows(0, 3000, &text);
    const Batch batch = ParseText(text);
    const std::vector<uint64_t>& column = batch.fields[1].ids.ids;  // C1: 1000 values at scale 1
    return std::set<uint64_t>(column.begin(), column.end()).size();
  };
  EXPECT_LE(ids(1), 1000u);
  EXPECT_GT(ids(100), 2000u);
}

TEST(SynthCriteoTest, OptionsOutOfRangeAreErrors) {
  auto error = [](const SynthCriteoOptions& options) {
    return std::string(Message(SynthCriteo::Make(options).status()));
  };
  EXPECT_THAT(error({.click_rate = 0}), HasSubstr("click_rate 0"));
  EXPECT_THAT(error({.click_rate = std::nan("")}), HasSubstr("click_rate nan"));
  EXPECT_THAT(error({.zipf_exponent = 0}), HasSubstr("zipf_exponent 0"));
  EXPECT_THAT(error({.cardinality_scale = -1}), HasSubstr("cardinality_scale -1"));
  EXPECT_THAT(error({.signal = -1}), HasSubstr("signal -1"));
}

TEST(OracleScoreTest, AucAndLoglossEqualTheNaiveOnesAndMerge) {
  const RngKey key(8);
  std::vector<std::pair<double, bool>> rows;
  OracleScore all, first, second;
  for (int i = 0; i < 600; ++i) {
    const double p = 0.001 + 0.99 * key.Uniform(2 * i);
    const bool clicked = key.Uniform(2 * i + 1) < p;
    rows.push_back({p, clicked});
    all.Add(p, clicked);
    (i < 200 ? first : second).Add(p, clicked);
  }
  double right = 0, pairs = 0, loss = 0;
  for (const auto& [p, clicked] : rows) {
    loss -= std::log(clicked ? p : 1 - p);
    for (const auto& [q, other] : rows) {
      if (!clicked || other) continue;
      pairs += 1;
      right += p > q ? 1 : p == q ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(all.auc(), right / pairs, 1e-4);
  EXPECT_NEAR(all.logloss(), loss / 600, 1e-9);
  first.Merge(second);
  EXPECT_EQ(first.auc(), all.auc());
  EXPECT_NEAR(first.logloss(), all.logloss(), 1e-12);
  EXPECT_EQ(first.clicks(), all.clicks());
}

}  // namespace
}  // namespace flotilla
