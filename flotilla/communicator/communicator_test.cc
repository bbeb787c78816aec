#include "flotilla/communicator/communicator.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

ModelSpec GoodSpec() {
  ModelSpec spec;
  spec.optimizer = Sgd(0.1);
  spec.parameters.resize(2);
  spec.parameters[0].name = "w";
  spec.parameters[0].shape = {2, 3};
  spec.parameters[1].name = "b";
  spec.parameters[1].shape = {3};
  spec.tables.resize(1);
  spec.tables[0].name = "emb";
  spec.tables[0].dim = 4;
  return spec;
}

std::string ErrorAfter(const std::function<void(ModelSpec&)>& change) {
  ModelSpec spec = GoodSpec();
  change(spec);
  return std::string(Message(CheckModelSpec(spec)));
}

TEST(CheckModelSpecTest, AGoodSpecIsAccepted) { EXPECT_TRUE(CheckModelSpec(GoodSpec()).ok()); }

TEST(CheckModelSpecTest, NamesMustBeThereAndDistinctOverParametersAndTables) {
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.parameters[1].name = ""; }), "parameter 1 has no name");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.parameters[1].name = "w"; }),
            "parameter w: the name is used twice");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.tables[0].name = "b"; }),
            "table b: the name is used twice");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.tables[0].name = ""; }), "table 0 has no name");
}

TEST(CheckModelSpecTest, DimensionsMustBePositiveAndTheirProductMustFit) {
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) {
              s.parameters[0].shape = {2, -3};
            }),
            "parameter w: dimension -3 is not positive");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.parameters[0].shape = {0}; }),
            "parameter w: dimension 0 is not positive");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) {
              s.parameters[0].shape = {int64_t{1} << 40, int64_t{1} << 40};
            }),
            "parameter w: more than 1099511627776 elements");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.tables[0].dim = 0; }),
            "table emb: dim 0 is not positive");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.tables[0].rows = -5; }), "table emb: -5 rows");
}

TEST(CheckModelSpecTest, FactorsAveragesAndSchedulesMustMakeSense) {
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.parameters[0].moving_average_keep = 1.5; }),
            "parameter w: moving_average_keep 1.5 is not in [0, 1)");
  EXPECT_EQ(ErrorAfter([](ModelSpec& s) { s.tables[0].attributes.learning_rate_factor = -1; }),
            "table emb: learning-rate factor -1 is not a number >= 0");
  EXPECT_TRUE(ErrorAfter([](ModelSpec& s) {
                s.optimizer.learning_rate.name = "magic";
              }).starts_with("learning rate: "));
}

}  // namespace
}  // namespace flotilla
