#include "flotilla/schema/value.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

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

TEST(ValueTest, WrittenNumbersAreTheSameTextAndFit) {
  for (const double value :
       {0.0, -0.0, 5.0, 0.1, -1.5, 1e300, -1.7976931348623157e308, 5e-324, -0x1p63, 0x1p63,
        0x1p63 - 1024, 1e15 + 0.5, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    char text[kCanonicalTextBytes + 1] = {};
    const char* const end = WriteCanonicalText(value, text);
    EXPECT_LE(end - text, static_cast<ptrdiff_t>(kCanonicalTextBytes));
    EXPECT_EQ(std::string(text, static_cast<size_t>(end - text)), CanonicalText(value));
    if (value == value) {
      EXPECT_EQ(std::strtod(text, nullptr), value) << text;
    }
  }
}

TEST(ValueTest, AFloatHasTheDigitsOfItsOwnPrecision) {
  EXPECT_EQ(CanonicalText(0.1f), "0.1");
  EXPECT_EQ(CanonicalText(-7.0f), "-7");
  EXPECT_EQ(CanonicalText(123456789.0f), "123456790");
  EXPECT_EQ(CanonicalText(std::numeric_limits<float>::quiet_NaN()), "");
  for (const float value : {0.0f, -0.0f, 3.4028235e38f, 1e-45f, 0x1p24f, -0x1p24f, 0x1p63f, 1.3f,
                            std::numeric_limits<float>::infinity()}) {
    const std::string text = CanonicalText(value);
    EXPECT_LE(text.size(), kCanonicalTextBytes);
    EXPECT_EQ(std::strtof(text.c_str(), nullptr), value) << text;
  }
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

TEST(ValueTest, DecimalCommas) {
  for (const char* text : {"12,50", "-3,1", "+0,0"}) EXPECT_TRUE(IsDecimalComma(text)) << text;
  for (const char* text : {"", ",", "1,", ",5", "1,2,3", "1.234,5", "a,5", "-,5", "12"}) {
    EXPECT_FALSE(IsDecimalComma(text)) << text;
  }
  EXPECT_EQ(FromDecimalComma("12,50"), 12.5);
  EXPECT_EQ(FromDecimalComma("-3,125"), -3.125);
}

}  // namespace
}  // namespace flotilla
