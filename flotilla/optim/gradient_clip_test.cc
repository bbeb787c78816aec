#include "flotilla/optim/gradient_clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

// Two parameters with a statistic between them, and two tables, one of which received no rows.
class ClipGradientsTest : public ::testing::Test {
 protected:
  ClipGradientsTest()
      : parameters_{{"w", {2}, {}, 0}, {"mean", {2}, {}, 0.9}, {"b", {1}, {}, 0}},
        layout_(parameters_) {
    gradients_.dense.resize(layout_.size());
    Set(0, {3, -4});
    Set(1, {1000, -1000});
    Set(2, {0.5f});
    gradients_.sparse.resize(2);
    gradients_.sparse[0] = {.dim = 2, .ids = {7, 9}, .values = {2, -6, 3, 0}, .locations = {}};
    gradients_.sparse[1].dim = 4;
  }

  void Set(int parameter, std::vector<float> values) {
    std::copy(values.begin(), values.end(), gradients_.dense.begin() + layout_.offset(parameter));
  }
  std::vector<float> Dense(int parameter) const {
    const float* begin = gradients_.dense.data() + layout_.offset(parameter);
    return {begin, begin + layout_.length(parameter)};
  }
  void Clip(const ClipSpec& clip) { ClipGradients(clip, layout_, parameters_, gradients_); }

  std::vector<ParameterSpec> parameters_;
  DenseLayout layout_;
  Gradients gradients_;
};

TEST_F(ClipGradientsTest, NoneLeavesEverything) {
  Clip({});
  EXPECT_THAT(Dense(0), ElementsAre(3, -4));
  EXPECT_THAT(gradients_.sparse[0].values, ElementsAre(2, -6, 3, 0));
}

TEST_F(ClipGradientsTest, ValueBoundsEachElement) {
  Clip(ClipByValue(2.5));
  EXPECT_THAT(Dense(0), ElementsAre(2.5f, -2.5f));
  EXPECT_THAT(Dense(2), ElementsAre(0.5f));
  EXPECT_THAT(gradients_.sparse[0].values, ElementsAre(2, -2.5f, 2.5f, 0));
}

TEST_F(ClipGradientsTest, NormBoundsEachParameterAndATableIsOne) {
  Clip(ClipByNorm(3.5));
  EXPECT_THAT(Dense(0), ElementsAre(FloatEq(2.1f), FloatEq(-2.8f)));
  EXPECT_THAT(Dense(2), ElementsAre(0.5f));
  EXPECT_THAT(gradients_.sparse[0].values,
              ElementsAre(FloatEq(1), FloatEq(-3), FloatEq(1.5f), FloatEq(0)));
}

TEST_F(ClipGradientsTest, GlobalNormBoundsAllTogether) {
  const double norm = std::sqrt(9 + 16 + 0.25 + 4 + 36 + 9);
  Clip(ClipByGlobalNorm(1));
  const auto scaled = [&](double x) { return FloatEq(static_cast<float>(x / norm)); };
  EXPECT_THAT(Dense(0), ElementsAre(scaled(3), scaled(-4)));
  EXPECT_THAT(Dense(2), ElementsAre(scaled(0.5)));
  EXPECT_THAT(gradients_.sparse[0].values,
              ElementsAre(scaled(2), scaled(-6), scaled(3), scaled(0)));
}

TEST_F(ClipGradientsTest, SmallNormsAreLeftAsTheyAre) {
  Clip(ClipByGlobalNorm(10));
  EXPECT_THAT(Dense(0), ElementsAre(3, -4));
  Clip(ClipByNorm(7));
  EXPECT_THAT(gradients_.sparse[0].values, ElementsAre(2, -6, 3, 0));
}

TEST_F(ClipGradientsTest, StatisticsAreNeitherClippedNorCounted) {
  for (const ClipSpec& clip : {ClipByValue(1), ClipByNorm(1), ClipByGlobalNorm(1)}) {
    Clip(clip);
    EXPECT_THAT(Dense(1), ElementsAre(1000, -1000));
  }
}

TEST_F(ClipGradientsTest, NormOfLargeGradientsDoesNotOverflow) {
  Set(0, {3e25f, -4e25f});
  Clip(ClipByNorm(5));
  EXPECT_THAT(Dense(0), ElementsAre(FloatEq(3), FloatEq(-4)));
}

TEST_F(ClipGradientsTest, NanStaysWhereItArose) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ClipSpec& clip : {ClipByValue(1), ClipByNorm(1), ClipByGlobalNorm(1)}) {
    Set(0, {nan, 1});
    Set(2, {0.5f});
    Clip(clip);
    EXPECT_TRUE(std::isnan(Dense(0)[0]));
    EXPECT_EQ(Dense(0)[1], 1);
    EXPECT_EQ(Dense(2)[0], 0.5f);
  }
}

TEST(CheckClipTest, LimitMustBePositiveAndFinite) {
  EXPECT_TRUE(CheckClip({}).ok());
  EXPECT_TRUE(CheckClip(ClipByNorm(0.1)).ok());
  for (double limit : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(std::string(Message(CheckClip(ClipByGlobalNorm(limit)))),
                HasSubstr("gradient clipping: limit is"));
  }
}

}  // namespace
}  // namespace flotilla
