#include "flotilla/trainer/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/graph/layers.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ConfigTest, GivesWhatWasSetAndTheDefaultOtherwise) {
  const Config config(Config::Values{{"dim", "16"},
                                     {"rate", "0.5"},
                                     {"layers", "32,16"},
                                     {"deep", "false"},
                                     {"optimizer", "sgd"}});
  EXPECT_EQ(config.Get("dim", 10), 16);
  EXPECT_EQ(config.Get("rate", 1e-3), 0.5);
  EXPECT_EQ(config.Get("layers", std::vector<int64_t>{400}), (std::vector<int64_t>{32, 16}));
  EXPECT_FALSE(config.Get("deep", true));
  EXPECT_EQ(config.Get("optimizer", "adam"), "sgd");
  EXPECT_EQ(config.Get("seed", 7), 7);
  EXPECT_TRUE(config.Has("dim"));
  EXPECT_FALSE(config.Has("seed"));
  EXPECT_TRUE(config.status().ok());
}

TEST(ConfigTest, AFlagIsDeclaredByReadingIt) {
  const Config config(Config::Values{{"dim", "16"}});
  config.Get("dim", 10, "Numbers per row");
  config.Get("dim", 10, "again");
  config.Get("bias", true);
  ASSERT_EQ(config.flags().size(), 2u);
  EXPECT_EQ(config.flags()[0].name, "dim");
  EXPECT_EQ(config.flags()[0].help, "Numbers per row");
  EXPECT_EQ(config.flags()[0].otherwise, "10");
  EXPECT_TRUE(config.flags()[1].is_switch);
}

TEST(ConfigTest, TheFirstBadValueIsTold) {
  const Config config(
      Config::Values{{"dim", "1x"}, {"layers", "1,,2"}, {"rate", "fast"}, {"deep", "1"}});
  EXPECT_EQ(config.Get("dim", 10), 10);
  EXPECT_EQ(Message(config.status()), "--dim: '1x' is not a whole number");
  const Config list(Config::Values{{"layers", "1,,2"}});
  list.Get("layers", std::vector<int64_t>{});
  EXPECT_THAT(std::string(Message(list.status())), HasSubstr("separated by commas"));
  const Config number(Config::Values{{"rate", "fast"}});
  number.Get("rate", 0.1);
  EXPECT_THAT(std::string(Message(number.status())), HasSubstr("'fast' is not a number"));
  const Config flag(Config::Values{{"deep", "1"}});
  flag.Get("deep", true);
  EXPECT_THAT(std::string(Message(flag.status())), HasSubstr("true or false"));
}

Model Line(const Config& config) {
  Graph g;
  const Var y = Fc(g.Dense("x", config.Get("width", 2)), 1);
  const Var loss = ReduceMean(SquareError(y, g.Dense("y", 1)));
  return {.graph = std::move(g), .loss = loss, .optimizer = Sgd(config.Get("rate", 0.1))};
}

TEST(ConfigTest, AModelIsCheckedBeforeAnyData) {
  EXPECT_TRUE(MakeModel(Line, Config()).ok());
  EXPECT_FALSE(MakeModel(Line, Config(Config::Values{{"width", "two"}})).ok());
  EXPECT_FALSE(MakeModel(Line, Config(Config::Values{{"width", "0"}})).ok());
  EXPECT_FALSE(MakeModel(Line, Config(Config::Values{{"rate", "-1"}})).ok());
}

}  // namespace
}  // namespace flotilla
