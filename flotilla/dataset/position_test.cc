#include "flotilla/dataset/position.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

TEST(DatasetPositionTest, TextFormReadsBackAsTheSamePosition) {
  DatasetPosition position{.epoch = 3,
                           .ordinal = 1'234'567'890'123,
                           .seed = std::numeric_limits<uint64_t>::max(),
                           .source = 42,
                           .rows = 7,
                           .skipped = 8,
                           .dropped = 9};
  for (int places = 0; places < 3; ++places) {
    const std::string text = position.ToText();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    StatusOr<DatasetPosition> back = DatasetPosition::FromText(text);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, position);
    position.places.push_back({.file = places, .line = 2, .offset = 3, .batch = 4, .next = 5});
  }
}

TEST(DatasetPositionTest, PartsReadBackToo) {
  DatasetPosition position{.epoch = 3, .rows = 7};
  for (int part = 0; part < 3; ++part) {
    position.parts.push_back({.epoch = 3, .ordinal = part, .source = 42});
    position.parts.back().places.resize(static_cast<size_t>(part));
    const StatusOr<DatasetPosition> back = DatasetPosition::FromText(position.ToText());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, position);
  }
  EXPECT_THAT(Message(DatasetPosition::FromText(position.ToText() + ";x").status()),
              HasSubstr("found 'x'"));
}

TEST(DatasetPositionTest, AnEndHasNoPlaces) {
  const DatasetPosition end{.epoch = 3, .ordinal = 5, .rows = 7, .ended = true};
  EXPECT_EQ(DatasetPosition::FromText(end.ToText()).value(), end);
  DatasetPosition all{.epoch = 3, .parts = {end, DatasetPosition{.epoch = 3}, end}};
  EXPECT_EQ(DatasetPosition::FromText(all.ToText()).value(), all);
}

TEST(DatasetPositionTest, TextFormIsStable) {
  DatasetPosition position{
      .epoch = 1, .ordinal = 2, .seed = 3, .source = 4, .rows = 5, .skipped = 6};
  position.places.push_back({.file = 1, .line = 2, .offset = 3, .batch = 4, .next = 5});
  EXPECT_EQ(position.ToText(),
            "flotilla-position/1 epoch=1 ordinal=2 seed=3 source=4 rows=5 skipped=6 dropped=0 "
            "places=1:2:3:4:5");
}

TEST(DatasetPositionTest, WrongTextsAreErrorsThatSayWhy) {
  const std::string good = DatasetPosition{.epoch = 1}.ToText();
  auto error = [](std::string_view text) {
    return std::string(Message(DatasetPosition::FromText(text).status()));
  };
  EXPECT_THAT(error(""), HasSubstr("expected flotilla-position/1"));
  EXPECT_THAT(error("flotilla-position/2 epoch=1"), HasSubstr("found 'flotilla-position/2'"));
  EXPECT_THAT(error("flotilla-position/1 epoch=x"), HasSubstr("expected a number, found 'x'"));
  EXPECT_THAT(error("flotilla-position/1 ordinal=1"), HasSubstr("'epoch=' is missing"));
  EXPECT_THAT(error(good + "1:2:3"), HasSubstr("expected a number"));
  EXPECT_THAT(error(good + "1:2:3:4:5:6"), HasSubstr("unexpected '6' after a place"));
  EXPECT_THAT(error(good + "1:-2:3:4:5"), HasSubstr("-2 is negative"));
}

TEST(DatasetPositionTest, NumbersFromWhichCountingWouldOverflowAreErrors) {
  const auto error = [](const DatasetPosition& position) {
    return std::string(Message(DatasetPosition::FromText(position.ToText()).status()));
  };
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error({.epoch = -1}), "");
  EXPECT_THAT(error({.epoch = -2}), HasSubstr("-2 is negative"));
  EXPECT_THAT(error({.epoch = kMax}), HasSubstr("at most"));
  for (const int64_t bad : {int64_t{-1}, kMax}) {
    EXPECT_NE(error({.ordinal = bad}), "");
    EXPECT_NE(error({.rows = bad}), "");
    EXPECT_NE(error({.skipped = bad}), "");
    EXPECT_NE(error({.dropped = bad}), "");
    for (const DatasetPosition::Place& place :
         {DatasetPosition::Place{.file = bad}, DatasetPosition::Place{.line = bad},
          DatasetPosition::Place{.offset = bad}, DatasetPosition::Place{.batch = bad},
          DatasetPosition::Place{.next = bad}}) {
      EXPECT_NE(error({.places = {place}}), "");
    }
  }
}

}  // namespace
}  // namespace flotilla
