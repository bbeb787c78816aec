#include "flotilla/base/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace flotilla {
namespace {

TEST(ParseNumberTest, TheWholeTextIsTheNumber) {
  EXPECT_EQ(ParseWhole<int64_t>("42"), 42);
  EXPECT_EQ(ParseWhole<int64_t>("-7"), -7);
  EXPECT_EQ(ParseWhole<int>("007"), 7);
  EXPECT_EQ(ParseWhole<uint64_t>("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(ParseWhole<double>("2.5e-3"), 2.5e-3);
  EXPECT_EQ(ParseWhole<float>("-1"), -1.0f);
}

TEST(ParseNumberTest, AnythingElseIsNone) {
  for (const char* text : {"", " ", "x", "-", "+1", " 1", "1 ", "1x", "1.5", "0x10", "1,2"}) {
    EXPECT_EQ(ParseWhole<int64_t>(text), std::nullopt) << "'" << text << "'";
  }
  for (const char* text : {"", ".", "1.5 ", "1e", "1.5.2", "+1.5"}) {
    EXPECT_EQ(ParseWhole<double>(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ParseNumberTest, NumbersThatDoNotFitAreNone) {
  EXPECT_EQ(ParseWhole<int>("2147483647"), 2147483647);
  EXPECT_EQ(ParseWhole<int>("2147483648"), std::nullopt);
  EXPECT_EQ(ParseWhole<uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseWhole<uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(ParseWhole<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace flotilla
