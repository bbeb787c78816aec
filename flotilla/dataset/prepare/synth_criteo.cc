#include "flotilla/dataset/prepare/synth_criteo.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numbers>

namespace flotilla {
namespace {

constexpr size_t kBuckets = 1 << 16;
constexpr uint64_t kBiasRows = 16384;
// Columns with at least this many values grow with cardinality_scale.
constexpr double kLargeColumn = 1000;

// A number column: missing with probability `missing`; otherwise shift + floor(e^(mean + deviation
// * normal)), the mean such that one in twenty is above `high`.
struct NumberColumn {
  double missing, high, shift;
};
constexpr double kNumberDeviation = 1.2;
constexpr double kNormal95 = 1.645;
constexpr std::array<NumberColumn, kCriteoNumbers> kNumbers = {{{.45, 20, 0},
                                                                {0, 603, -3},
                                                                {.21, 100, 0},
                                                                {.22, 50, 0},
                                                                {.03, 64000, 0},
                                                                {.22, 500, 0},
                                                                {.04, 100, 0},
                                                                {0, 50, 0},
                                                                {.04, 500, 0},
                                                                {.45, 10, 0},
                                                                {.04, 10, 0},
                                                                {.76, 10, 0},
                                                                {.22, 50, 0}}};

// A category column: its number of values, how often it is missing, and the spread of the effects
// of its values. Large columns have small effects, since each of their values occurs in few rows.
struct CategoryColumn {
  double values, missing, effect;
};
constexpr std::array<CategoryColumn, kCriteoCategories> kCategories = {{
    {1000, 0, .25},     {500, 0, .25},      {100000, .03, .06}, {50000, .03, .06}, {300, 0, .25},
    {24, .12, .4},      {10000, 0, .06},    {600, 0, .25},      {3, 0, .4},        {30000, 0, .06},
    {5000, 0, .1},      {100000, .03, .06}, {3000, 0, .1},      {27, 0, .4},       {10000, 0, .06},
    {80000, .03, .06},  {10, 0, .4},        {4000, 0, .1},      {2000, .44, .1},   {4, .44, .4},
    {100000, .03, .06}, {18, .76, .4},      {15, 0, .4},        {20000, .03, .06}, {100, .44, .4},
    {30000, .44, .06},
}};

// Two columns that interact: weight * trait of one value * trait of the other.
struct CategoryPair {
  int a, b;
  double weight;
};
constexpr CategoryPair kCategoryPairs[] = {
    {5, 13, .45}, {8, 13, .45}, {16, 22, .6}, {5, 16, .45}, {19, 22, .4}};
// A category trait that changes the slope of a number.
struct NumberPair {
  int number, category;
  double weight;
};
constexpr NumberPair kNumberPairs[] = {{4, 16, .5}, {6, 22, .5}, {1, 8, .4}};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

double NumberMean(int column) {
  return std::log(kNumbers[column].high) - kNormal95 * kNumberDeviation;
}

// The number transformed to an approximately standard normal scale.
double Standardised(int column, int64_t number) {
  const double shifted = static_cast<double>(number) - kNumbers[column].shift;
  return (std::log(shifted + 0.5) - NumberMean(column)) / kNumberDeviation;
}

}  // namespace

OracleScore::OracleScore() : clicked_(kBuckets), not_clicked_(kBuckets) {}

void OracleScore::Add(double probability, bool clicked) {
  const size_t bucket = std::min(static_cast<size_t>(probability * kBuckets), kBuckets - 1);
  ++(clicked ? clicked_ : not_clicked_)[bucket];
  ++rows_;
  clicks_ += clicked;
  loss_sum_ -= std::log(clicked ? probability : 1 - probability);
}

void OracleScore::Merge(const OracleScore& other) {
  for (size_t i = 0; i < kBuckets; ++i) {
    clicked_[i] += other.clicked_[i];
    not_clicked_[i] += other.not_clicked_[i];
  }
  rows_ += other.rows_;
  clicks_ += other.clicks_;
  loss_sum_ += other.loss_sum_;
}

double OracleScore::auc() const {
  const double pairs = static_cast<double>(clicks_) * static_cast<double>(rows_ - clicks_);
  if (pairs == 0) return 0.5;
  double below = 0, right = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    const double clicked = static_cast<double>(clicked_[i]);
    const double not_clicked = static_cast<double>(not_clicked_[i]);
    right += clicked * (below + not_clicked / 2);
    below += not_clicked;
  }
  return right / pairs;
}

double OracleScore::logloss() const {
  return rows_ == 0 ? 0 : loss_sum_ / static_cast<double>(rows_);
}

StatusOr<SynthCriteo> SynthCriteo::Make(const SynthCriteoOptions& options) {
  if (!(options.click_rate > 0 && options.click_rate < 1)) {
    return InvalidArgument("synth criteo: click_rate {} is not between 0 and 1",
                           options.click_rate);
  }
  if (!(options.zipf_exponent > 0 && options.zipf_exponent <= 10)) {
    return InvalidArgument("synth criteo: zipf_exponent {} is not in (0, 10]",
                           options.zipf_exponent);
  }
  if (!(options.cardinality_scale > 0 && options.cardinality_scale <= 1e6)) {
    return InvalidArgument("synth criteo: cardinality_scale {} is not in (0, 1e6]",
                           options.cardinality_scale);
  }
  if (!(options.signal >= 0 && options.signal <= 100)) {
    return InvalidArgument("synth criteo: signal {} is not in [0, 100]", options.signal);
  }
  return SynthCriteo(options);
}

SynthCriteo::SynthCriteo(const SynthCriteoOptions& options)
    : options_(options), key_(RngKey(options.seed).With("synth_criteo")) {
  for (int c = 0; c < kCriteoCategories; ++c) {
    const uint64_t column = static_cast<uint64_t>(c);
    value_keys_.push_back(key_.With("value").With(column));
    effect_keys_.push_back(key_.With("effect").With(column));
    trait_keys_.push_back(key_.With("trait").With(column));
    double values = kCategories[c].values;
    if (values >= kLargeColumn) values = std::max(1.0, values * options.cardinality_scale);
    ranks_.emplace_back(std::floor(values), options.zipf_exponent);
  }
  bias_ = FindBias();
}

double SynthCriteo::FindBias() const {
  const RngKey key = key_.With("bias");
  std::vector<double> logits(kBiasRows);
  for (uint64_t i = 0; i < kBiasRows; ++i) logits[i] = Logit(DrawRow(key.With(i)));
  double low = -50, high = 50;
  for (int step = 0; step < 60; ++step) {
    const double bias = (low + high) / 2;
    double sum = 0;
    for (double logit : logits) sum += Sigmoid(logit + bias);
    (sum < options_.click_rate * kBiasRows ? low : high) = bias;
  }
  return (low + high) / 2;
}

int64_t SynthCriteo::DrawNumber(int column, double normal) const {
  const double value = std::exp(NumberMean(column) + kNumberDeviation * normal);
  return static_cast<int64_t>(kNumbers[column].shift + std::floor(value));
}

SynthCriteo::Draw SynthCriteo::DrawRow(const RngKey& key) const {
  Draw draw;
  uint64_t counter = 0;
  for (int i = 0; i < kCriteoNumbers; ++i) {
    draw.present[i] = Unit(key.Bits(counter)) >= kNumbers[i].missing;
    draw.number[i] = draw.present[i] ? DrawNumber(i, key.Normal(counter + 1)) : 0;
    counter += 2;
  }
  for (int c = 0; c < kCriteoCategories; ++c) {
    const bool present = Unit(key.Bits(counter)) >= kCategories[c].missing;
    draw.rank[c] = present ? ranks_[c].Rank(Unit(key.Bits(counter + 1))) : 0;
    counter += 2;
  }
  return draw;
}

double SynthCriteo::NumberTerms(const Draw& draw) const {
  double sum = 0;
  for (int i = 0; i < kCriteoNumbers; ++i) {
    if (!draw.present[i]) continue;
    const double z = std::clamp(Standardised(i, draw.number[i]), -3.0, 3.0);
    // Alternates between four shapes, each with about the same spread.
    switch (i % 4) {
      case 0:
        sum += .30 * std::sin(1.5 * z);
        break;
      case 1:
        sum += .16 * (z * z - 1);
        break;
      case 2:
        sum += .25 * std::tanh(2 * z);
        break;
      default:
        sum += .18 * z;
        break;
    }
  }
  return sum;
}

double SynthCriteo::CategoryTerms(const Draw& draw) const {
  double sum = 0;
  for (int c = 0; c < kCriteoCategories; ++c) {
    sum += kCategories[c].effect * effect_keys_[c].Normal(draw.rank[c]);
  }
  return sum;
}

double SynthCriteo::PairTerms(const Draw& draw) const {
  double sum = 0;
  for (const CategoryPair& pair : kCategoryPairs) {
    sum += pair.weight * trait_keys_[pair.a].Normal(draw.rank[pair.a]) *
           trait_keys_[pair.b].Normal(draw.rank[pair.b]);
  }
  for (const NumberPair& pair : kNumberPairs) {
    if (!draw.present[pair.number]) continue;
    const double z = std::clamp(Standardised(pair.number, draw.number[pair.number]), -3.0, 3.0);
    sum += pair.weight * z * trait_keys_[pair.category].Normal(draw.rank[pair.category]);
  }
  return sum;
}

double SynthCriteo::Logit(const Draw& draw) const {
  return options_.signal * (NumberTerms(draw) + CategoryTerms(draw) + PairTerms(draw));
}

void SynthCriteo::AppendRow(bool clicked, const Draw& draw, std::string* text) const {
  auto out = std::back_inserter(*text);
  text->push_back(clicked ? '1' : '0');
  for (int i = 0; i < kCriteoNumbers; ++i) {
    text->push_back('\t');
    if (draw.present[i]) fmt::format_to(out, "{}", draw.number[i]);
  }
  for (int c = 0; c < kCriteoCategories; ++c) {
    text->push_back('\t');
    if (draw.rank[c] != 0) fmt::format_to(out, "{:08x}", value_keys_[c].Bits(draw.rank[c]) >> 32);
  }
}

double SynthCriteo::Row(uint64_t i, std::string* text) const {
  const RngKey key = key_.With("row").With(i);
  const Draw draw = DrawRow(key);
  const double probability = Sigmoid(Logit(draw) + bias_);
  const bool clicked = Unit(key.With("click").Bits(0)) < probability;
  AppendRow(clicked, draw, text);
  return probability;
}

OracleScore SynthCriteo::Rows(uint64_t begin, uint64_t end, std::string* text) const {
  OracleScore score;
  for (uint64_t i = begin; i < end; ++i) {
    const size_t first = text->size();
    const double probability = Row(i, text);
    score.Add(probability, (*text)[first] == '1');
    text->push_back('\n');
  }
  return score;
}

}  // namespace flotilla
