#include "flotilla/dataset/batch_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flotilla {
namespace {

using ::testing::ElementsAre;

const std::vector<InputSpec> kAllKinds = {{"x", InputKind::kDense, 2},
                                          {"id", InputKind::kIds, 1},
                                          {"bag", InputKind::kIds, 1},
                                          {"label", InputKind::kLabel, 1}};
const std::vector<float> kX = {1, 2, 3, 4};
const std::vector<uint64_t> kId = {7, 8};
const std::vector<uint64_t> kBag = {5, 6, 7};
const std::vector<uint32_t> kOffsets = {0, 0, 3};
const std::vector<float> kClicks = {0, 1};

TEST(BatchBuilderTest, ArraysBecomeABatchInTheOrderOfTheInputs) {
  StatusOr<Batch> batch = BatchBuilder(kAllKinds)
                              .Values("label", kClicks)
                              .Ids("bag", kBag, kOffsets)
                              .Ids("id", kId)
                              .Values("x", kX)
                              .Build();
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(batch->rows, 2);
  EXPECT_THAT(batch->fields[0].values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(batch->fields[1].ids.ids, ElementsAre(7, 8));
  EXPECT_TRUE(batch->fields[1].ids.one_per_row());
  EXPECT_THAT(batch->fields[2].ids.row(1), ElementsAre(5, 6, 7));
  EXPECT_THAT(batch->fields[3].values, ElementsAre(0, 1));
}

TEST(BatchBuilderTest, WeightsStandBesideTheirIds) {
  const auto build = [](const std::vector<float>& weights) {
    return BatchBuilder(kAllKinds)
        .Values("label", kClicks)
        .Ids("bag", kBag, kOffsets, weights)
        .Ids("id", kId)
        .Values("x", kX)
        .Build();
  };
  EXPECT_THAT(build({0.5f, 1, 2})->fields[2].ids.weights, ElementsAre(0.5f, 1, 2));
  EXPECT_EQ(Message(build({1, 2}).status()), "input bag: 2 weights for 3 ids");
  EXPECT_EQ(Message(build({1, 2, NAN}).status()),
            "batch: input bag: a value is infinite or not a number");
}

TEST(BatchBuilderTest, MistakesNameTheInput) {
  auto error = [](BatchBuilder& builder) { return std::string(Message(builder.Build().status())); };
  auto builder = [] { return BatchBuilder(kAllKinds); };
  EXPECT_EQ(error(builder().Values("x", kX).Ids("id", kId).Ids("bag", kBag, kOffsets)),
            "batch: input label is missing");
  EXPECT_EQ(error(builder().Values("y", kX)), "batch: no input is named y");
  EXPECT_EQ(error(builder().Ids("x", kId)), "batch: input x takes values");
  EXPECT_EQ(error(builder().Values("id", kX)), "batch: input id takes ids");
  EXPECT_EQ(error(builder().Ids("id", kId).Ids("id", kId)), "batch: input id was given twice");
  EXPECT_EQ(error(builder().Values("label", kClicks).Values("x", kClicks)),
            "batch: input x: 2 values, expected 4 for 2 rows");
  EXPECT_EQ(error(builder().Values("x", std::vector<float>{1, 2, 3})),
            "batch: input x: 3 values, expected 2 for 1 rows");
  EXPECT_EQ(error(builder().Values("label", std::vector<float>{NAN})),
            "batch: input label: a value is infinite or not a number");
  EXPECT_EQ(error(builder().Ids("bag", kBag, std::vector<uint32_t>{0, 2})),
            "batch: input bag: offsets must ascend from 0 to 3");
  // The first error is reported, not the last.
  EXPECT_EQ(error(builder().Values("y", kX).Values("z", kX)), "batch: no input is named y");
}

}  // namespace
}  // namespace flotilla
