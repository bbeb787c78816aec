#include "flotilla/dataset/input_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string InputsError(std::string_view text) {
  const auto inputs = InputsFromText(text);
  EXPECT_FALSE(inputs.ok()) << text;
  return std::string(Message(inputs.status()));
}

TEST(InputTextTest, EveryKindOfInputHasAForm) {
  const auto text = InputsFromText("x:dense:3, y:dense words:ids\tuser:id,click:label");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(
      text->inputs,
      ElementsAre(InputSpec{"x", InputKind::kDense, 3}, InputSpec{"y", InputKind::kDense, 1},
                  InputSpec{"words", InputKind::kIds, 1}, InputSpec{"user", InputKind::kIds, 1},
                  InputSpec{"click", InputKind::kLabel, 1}));
  EXPECT_THAT(text->single, ElementsAre("user"));
}

TEST(InputTextTest, RangeStandsForItsNames) {
  const auto text = InputsFromText("C9..C11:id");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->single, ElementsAre("C9", "C10", "C11"));
  EXPECT_EQ(text->inputs.size(), 3u);
}

TEST(InputTextTest, WrongWordsAreShown) {
  for (const char* word : {"x", "x:", ":ids", "x:sparse", "x:dense:0", "x:dense:y", "x:ids:3",
                           "x:dense:3:4", "x:dense:99999999999", "C1..:id", "C1..D3:id",
                           "C3..C1:id", "C..D:id", "C1..C9999999:id", "..:id"}) {
    EXPECT_THAT(InputsError(word), HasSubstr(fmt::format("'{}' is not NAME:dense", word)));
  }
  EXPECT_EQ(InputsError("a:ids C1..C3:id C2:id"), "'C2:id': duplicate input C2");
  EXPECT_EQ(InputsError(" , "), "no inputs in ' , '");
}

}  // namespace
}  // namespace flotilla
