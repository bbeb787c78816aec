#include "flotilla/base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla {
namespace {

const std::vector<std::string> kKnown = {"--batch_size", "--epochs", "--test", "--threads"};

TEST(NearestNameTest, FindsTheNameWithTheFewestChanges) {
  EXPECT_EQ(NearestName("--batchsize", kKnown), "--batch_size");
  EXPECT_EQ(NearestName("--epoch", kKnown), "--epochs");
  EXPECT_EQ(NearestName("--treads", kKnown), "--threads");
}

TEST(NearestNameTest, ABeginningMeansTheWholeName) {
  EXPECT_EQ(NearestName("--batch", kKnown), "--batch_size");
  EXPECT_EQ(NearestName("--t", kKnown), "--test");
}

TEST(NearestNameTest, AnAbbreviationMeansTheNameOfItsWords) {
  const std::vector<std::string> known = {"--help", "--no_shuffle", "--learning_rate", "--seed"};
  EXPECT_EQ(NearestName("--lr", known), "--learning_rate");
  EXPECT_EQ(NearestName("--rate", known), "--learning_rate");
  EXPECT_EQ(NearestName("--bs", kKnown), "--batch_size");
  EXPECT_EQ(NearestName("--xy", known), "") << "two letters resemble nothing";
}

TEST(NearestNameTest, NothingSimilarGivesNoName) {
  EXPECT_EQ(NearestName("zzzzzzzz", kKnown), "");
  EXPECT_EQ(NearestName("", kKnown), "");
}

TEST(NearestNameTest, TheQuestionListsAllNamesWhenNoneIsSimilar) {
  EXPECT_EQ(DidYouMean("--epoch", kKnown), ", did you mean --epochs?");
  EXPECT_EQ(DidYouMean("zzzzzzzz", kKnown), "; known: --batch_size, --epochs, --test, --threads");
}

}  // namespace
}  // namespace flotilla
