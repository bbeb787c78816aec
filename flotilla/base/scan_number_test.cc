#include "flotilla/base/scan_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

// The whole number at the start of `text` as "value length", or "none".
std::string Uint64Of(const std::string& text) {
  uint64_t value = 0;
  const char* const stop = ScanUint64(text.data(), text.data() + text.size(), &value);
  return stop == nullptr ? "none"
                         : std::to_string(value) + " " + std::to_string(stop - text.data());
}

// Expects the whole of `text` to be one number, equal to the result of strtod.
void ExpectDouble(const std::string& text) {
  double value = -1;
  // A copy of exact size, so that sanitizers detect a read past its end.
  const std::vector<char> exact(text.begin(), text.end());
  const char* const stop = ScanDouble(exact.data(), exact.data() + exact.size(), &value);
  ASSERT_EQ(stop, exact.data() + exact.size()) << text;
  const double expected = std::strtod(text.c_str(), nullptr);
  EXPECT_EQ(value, expected) << text;
  EXPECT_EQ(std::signbit(value), std::signbit(expected)) << text;
}

// Length of the float32 at the start of `text`, or -1.
ptrdiff_t FloatLength(const std::string& text) {
  float value = 0;
  const char* const stop = ScanFloat(text.data(), text.data() + text.size(), &value);
  return stop == nullptr ? -1 : stop - text.data();
}

TEST(ScanNumberTest, WholeNumbersOfEveryLengthAndWithEveryByteBehindThem) {
  std::string digits;
  for (int length = 1; length <= 19; ++length) {
    digits += static_cast<char>('0' + (length * 7) % 10);
    const std::string expected =
        std::to_string(std::strtoull(digits.c_str(), nullptr, 10)) + " " + std::to_string(length);
    EXPECT_EQ(Uint64Of(digits), expected);
    for (int c = 0; c < 256; ++c) {
      if (c >= '0' && c <= '9') continue;
      for (const char* tail : {"", "1", "12345678", "\xff\xff\xff\xff\xff\xff\xff\xff"}) {
        ASSERT_EQ(Uint64Of(digits + static_cast<char>(c) + tail), expected) << c;
      }
    }
  }
}

TEST(ScanNumberTest, WholeNumbersUpToTheLargestAndNoFurther) {
  EXPECT_EQ(Uint64Of("18446744073709551615"), "18446744073709551615 20");
  EXPECT_EQ(Uint64Of("18446744073709551616"), "none");
  EXPECT_EQ(Uint64Of("99999999999999999999"), "none");
  EXPECT_EQ(Uint64Of("100000000000000000000"), "none");
  EXPECT_EQ(Uint64Of("0000000000000000000000000042"), "42 28");
  EXPECT_EQ(Uint64Of(""), "none");
  EXPECT_EQ(Uint64Of("-1"), "none");
  EXPECT_EQ(Uint64Of("+1"), "none");
  EXPECT_EQ(Uint64Of(" 12345678"), "none");
}

TEST(ScanNumberTest, NumbersEqualThoseOfTheLibrary) {
  for (const char* text : {"0",
                           "-0",
                           "+1",
                           "1.5",
                           "-1.5",
                           ".5",
                           "5.",
                           "1e3",
                           "1E+3",
                           "1e-3",
                           "12345678",
                           "123456789",
                           "0.004975124378109453",
                           "0.1234567890123456789",
                           "123456789.123456789",
                           "9007199254740993",
                           "9007199254740992",
                           "9007199254740993.0",
                           "1e22",
                           "1e23",
                           "1234567890123456789012345678901234567890",
                           "0.00000000000000000000000000000000001",
                           "1e308",
                           "1.7976931348623157e308",
                           "4.9e-324",
                           "1e-400",
                           "0.0001e-999999999999999999",
                           "0e999999999999",
                           "3.4028235e38",
                           "000000000000000000000000000001.5"}) {
    ExpectDouble(text);
  }
  // Leading zeros do not make a number small, and trailing zeros do not make it large.
  ExpectDouble(std::string(400, '0') + "1");
  ExpectDouble("0." + std::string(400, '0') + "1");
  ExpectDouble("0." + std::string(400, '0') + "1e401");
  ExpectDouble("1" + std::string(400, '0') + "e-400");
}

TEST(ScanNumberTest, RandomNumbersEqualThoseOfTheLibrary) {
  const RngKey key = RngKey(1).With("numbers");
  for (uint64_t i = 0; i < 20000; ++i) {
    const int digits = 1 + static_cast<int>(key.Below(4 * i, 20));
    const double number = std::ldexp(key.Below(4 * i + 1, uint64_t{1} << 53),
                                     static_cast<int>(key.Below(4 * i + 2, 140)) - 120);
    ExpectDouble(fmt::format("{:.{}g}", number, digits));
    ExpectDouble(fmt::format("{:.{}f}", number, digits));
  }
}

TEST(ScanNumberTest, WhatIsNoNumber) {
  for (const char* text : {"",      "-",      "+",         ".",      "-.",   "e5",   "nan",
                           "inf",   "-inf",   "infinity",  "x",      " 1",   "--1",  "+-1",
                           "1e999", "-1e999", "0.001e999", "3.5e38", "1e39", "1e38", "-1e38"}) {
    EXPECT_EQ(FloatLength(text), -1) << text;
  }
  EXPECT_EQ(FloatLength("18446743523953729535"), 20);
  EXPECT_EQ(FloatLength("18446743523953737728"), -1);  // rounds to 2^64, whose square is infinite
}

TEST(ScanNumberTest, SquaresOfNumbersAreFinite) {
  float value = 0;
  ASSERT_TRUE(ToFloat(18446743523953729535.0, &value));
  EXPECT_TRUE(std::isfinite(value * value));
  EXPECT_FALSE(std::isfinite(std::nextafter(value, INFINITY) * std::nextafter(value, INFINITY)));
  const std::string large = "-2e19", small = "1e19", none = "x";
  const auto note = [](const std::string& text) {
    return TooLargeNote(text.data(), text.data() + text.size());
  };
  EXPECT_NE(note(large), "");
  EXPECT_EQ(note(small), "");
  EXPECT_EQ(note(none), "");
}

TEST(ScanNumberTest, NumberEndsWhereItsFormEnds) {
  EXPECT_EQ(FloatLength("1.5x"), 3);
  EXPECT_EQ(FloatLength("1.5.5"), 3);
  EXPECT_EQ(FloatLength("1e"), 1);
  EXPECT_EQ(FloatLength("1e+"), 1);
  EXPECT_EQ(FloatLength("0x10"), 1);
  EXPECT_EQ(FloatLength(std::string("1\0", 2)), 1);
}

TEST(ScanNumberTest, ShownPiecesAreShortAndOnOneLine) {
  const std::string text = std::string("a\0b", 3) + std::string(50, 'x') + " tail";
  EXPECT_EQ(ShownWord(text.data(), text.data() + text.size()), "a?b" + std::string(37, 'x') + "..");
  EXPECT_EQ(ShownText(text.data(), text.data() + 3), "a?b");
}

}  // namespace
}  // namespace flotilla
