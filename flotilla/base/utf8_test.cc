#include "flotilla/base/utf8.h"

#include <gtest/gtest.h>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

TEST(Utf8Test, EveryCharacterHasOneForm) {
  for (const char* text : {"", "abc", "\x7f", "\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text :
       {"\x80", "a\xff", "\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Utf8Test, RepairedBytesAreValid) {
  for (uint64_t round = 0; round < 2000; ++round) {
    const RngKey key = RngKey(3).With(round);
    std::string bytes;
    for (uint64_t i = 0; i < key.Below(99, 12); ++i) {
      bytes.push_back(static_cast<char>(key.Below(i, 2) == 0 ? key.Below(100 + i, 256)
                                                             : 0x80 + key.Below(200 + i, 128)));
    }
    const std::string repaired = RepairUtf8(bytes);
    EXPECT_TRUE(IsUtf8(repaired));
    EXPECT_EQ(IsUtf8(bytes), repaired == bytes);
    for (const size_t limit : {2, 5, 40}) {
      const std::string shown = ShownUtf8(bytes, limit);
      EXPECT_TRUE(IsUtf8(shown));
      EXPECT_LE(shown.size(), limit);
    }
  }
}

TEST(Utf8Test, ShownTextIsCutBetweenCharacters) {
  EXPECT_EQ(ShownUtf8("пользователь", 24), "пользователь");
  EXPECT_EQ(ShownUtf8("пользователь", 19), "пользова..");
  EXPECT_EQ(ShownUtf8("пользователь", 10), "поль..");
  EXPECT_EQ(ShownUtf8("caf\xe9 1\n", 20), "caf? 1?");
  EXPECT_EQ(ShownUtf8("caf\xc3", 20), "caf?");
  EXPECT_EQ(ShownUtf8("", 20), "");
}

}  // namespace
}  // namespace flotilla
