#include "flotilla/table/initializer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace flotilla {
namespace {

std::vector<float> Values(const InitializerSpec& spec, int64_t n, const Fans& fans = {},
                          uint64_t seed = 5) {
  auto initializer = Initializer::Make(spec, fans);
  EXPECT_TRUE(initializer.ok()) << initializer.status();
  std::vector<float> values(static_cast<size_t>(n));
  initializer->Fill(ParameterKey(seed, "w"), n, values.data());
  return values;
}

double Mean(const std::vector<float>& values) {
  double sum = 0;
  for (float v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double Deviation(const std::vector<float>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (float v : values) sum += (v - mean) * (v - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double LargestMagnitude(const std::vector<float>& values) {
  double most = 0;
  for (float v : values) most = std::max(most, std::fabs(static_cast<double>(v)));
  return most;
}

TEST(InitializerTest, ConstantFillsEveryElement) {
  EXPECT_EQ(Values(Constant(2.5), 3), (std::vector<float>{2.5f, 2.5f, 2.5f}));
}

TEST(InitializerTest, UniformStaysInsideItsRangeAndHasItsMoments) {
  const std::vector<float> values = Values(Uniform(1, 2), 100000);
  for (float v : values) {
    EXPECT_GE(v, 1.0f);
    EXPECT_LT(v, 2.0f);
  }
  EXPECT_NEAR(Mean(values), 1.5, 0.005);
  EXPECT_NEAR(Deviation(values), 1 / std::sqrt(12.0), 0.005);
}

TEST(InitializerTest, UniformExcludesItsHighEndEvenWhereItWouldRoundUp) {
  // Only two floats lie in [1, 1 + 2^-22): the upper half of the draws would round to the end.
  const double end = 1 + 0x1p-22;
  for (float v : Values(Uniform(1, end), 1000)) EXPECT_LT(v, static_cast<float>(end));
}

TEST(InitializerTest, NormalHasItsMoments) {
  const std::vector<float> values = Values(Normal(3, 0.5), 100000);
  EXPECT_NEAR(Mean(values), 3, 0.01);
  EXPECT_NEAR(Deviation(values), 0.5, 0.01);
}

TEST(InitializerTest, TruncatedNormalStaysWithinTwoDeviations) {
  const std::vector<float> values = Values(TruncatedNormal(0, 1), 100000);
  EXPECT_LE(LargestMagnitude(values), 2.0);
  EXPECT_GT(LargestMagnitude(values), 1.9);
  EXPECT_NEAR(Deviation(values), 0.8796, 0.01);  // of a normal truncated at two deviations
}

TEST(InitializerTest, XavierAndMsraScaleByTheFans) {
  const Fans fans{.in = 30, .out = 20};
  EXPECT_NEAR(LargestMagnitude(Values(Xavier(), 100000, fans)), std::sqrt(6.0 / 50), 1e-3);
  EXPECT_NEAR(Deviation(Values(Xavier(false), 100000, fans)), std::sqrt(2.0 / 50), 2e-3);
  EXPECT_NEAR(LargestMagnitude(Values(Msra(), 100000, fans)), std::sqrt(6.0 / 30), 1e-3);
  EXPECT_NEAR(Deviation(Values(Msra(false), 100000, fans)), std::sqrt(2.0 / 30), 2e-3);
}

TEST(InitializerTest, FansComeFromTheShape) {
  const std::vector<int64_t> matrix = {30, 20}, vector = {7}, cube = {2, 3, 5};
  EXPECT_EQ(FansOf(matrix).in, 30);
  EXPECT_EQ(FansOf(matrix).out, 20);
  EXPECT_EQ(FansOf(vector).in, 7);
  EXPECT_EQ(FansOf(vector).out, 7);
  EXPECT_EQ(FansOf(cube).in, 6);
  EXPECT_EQ(FansOf(cube).out, 5);
  EXPECT_EQ(FansOf(std::span<const int64_t>()).in, 1);
  TableSpec table;
  table.dim = 8;
  EXPECT_EQ(FansOf(table).in, 8);
  table.rows = 100;
  EXPECT_EQ(FansOf(table).in, 100);
  EXPECT_EQ(FansOf(table).out, 8);
}

TEST(InitializerTest, AValueDependsOnSeedNameAndPositionOnly) {
  for (const InitializerSpec& spec : {Uniform(-1, 1), Normal(0, 1), TruncatedNormal(0, 1)}) {
    const std::vector<float> whole = Values(spec, 100);
    const std::vector<float> part = Values(spec, 10);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
    EXPECT_NE(whole, Values(spec, 100, {}, 6));
    std::vector<float> other(100);
    Initializer::Make(spec, {})->Fill(ParameterKey(5, "v"), 100, other.data());
    EXPECT_NE(whole, other);
  }
}

TEST(InitializerTest, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(Message(Initializer::Make(Uniform(1, 1), {}).status()),
            "initializer: uniform over [1, 1) is empty");
  EXPECT_EQ(Message(Initializer::Make(Normal(0, -2), {}).status()),
            "initializer: deviation -2 is negative");
  EXPECT_FALSE(Initializer::Make(Constant(NAN), {}).ok());
  EXPECT_FALSE(Initializer::Make({InitializerSpec::Kind::kXavier, 2, 0}, {}).ok());
}

}  // namespace
}  // namespace flotilla
