#include "flotilla/schema/value.h"

#include <gtest/gtest.h>

#include <limits>

namespace flotilla {
namespace {

TEST(ValueTest, SameValueFromTextAndFromNumberIsTheSameText) {
  EXPECT_EQ(CanonicalText("5"), "5");
  EXPECT_EQ(CanonicalText("5.0"), "5");
  EXPECT_EQ(CanonicalText("-12.000"), "-12");
  EXPECT_EQ(CanonicalText(5.0), "5");
  EXPECT_EQ(CanonicalText(-12.0), "-12");
  EXPECT_EQ(CanonicalText(0.25), "0.25");
  EXPECT_EQ(CanonicalText("0.25"), "0.25");
  EXPECT_EQ(CanonicalText(1234567890123.0), "1234567890123");
}

TEST(ValueTest, TextThatIsNoWholeNumberIsUnchanged) {
  for (const char* text : {"", "0", "10", ".0", "-.0", "1.50", "v1.0", "1.0.0", "a0", "1e0", "-"}) {
    EXPECT_EQ(CanonicalText(std::string_view(text)), text);
  }
}

TEST(ValueTest, EmptyNanAndNoneAreMissing) {
  for (const char* text : {"", "NaN", "nan", "None"}) EXPECT_TRUE(IsMissingText(text)) << text;
  for (const char* text : {"0", "none", "nano", "NA", "Nan"}) {
    EXPECT_FALSE(IsMissingText(text)) << text;
  }
  EXPECT_TRUE(IsMissingText(CanonicalText(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace flotilla
