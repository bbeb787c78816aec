#include "flotilla/server/push_window.h"

#include <gtest/gtest.h>

#include <string>

namespace flotilla {
namespace {

using Verdict = PushWindow::Verdict;

Payload PayloadOf(const std::string& text) {
  Payload payload;
  payload.AddCopy(text.data(), text.size());
  return payload;
}

// Collects answers as text.
struct Answers {
  std::vector<std::string> texts;
  PushWindow::Respond Take() {
    return [this](const Payload& response) {
      std::string text(response.size(), '\0');
      PayloadReader(response).Read(text.data(), text.size());
      texts.push_back(text);
    };
  }
};

TEST(PushWindowTest, ARepeatedRequestIsAnsweredAndNotHandledAgain) {
  PushWindow window(1, 4);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers first, second;
  EXPECT_EQ(*window.Begin(0, 1, 1, first.Take()), Verdict::kNew);
  window.Finish(0, 1, 1, true, [] { return PayloadOf("done"); });
  EXPECT_EQ(*window.Begin(0, 1, 1, second.Take()), Verdict::kHandled);
  EXPECT_EQ(first.texts, std::vector<std::string>{"done"});
  EXPECT_EQ(second.texts, std::vector<std::string>{"done"});
  EXPECT_EQ(window.applied(), 1);
}

TEST(PushWindowTest, ACopyThatComesMeanwhileIsAnsweredWithTheFirst) {
  PushWindow window(1, 4);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers answers;
  EXPECT_EQ(*window.Begin(0, 1, 7, answers.Take()), Verdict::kNew);
  EXPECT_EQ(*window.Begin(0, 1, 7, answers.Take()), Verdict::kHandled);
  EXPECT_TRUE(answers.texts.empty());
  window.Finish(0, 1, 7, true, [] { return PayloadOf("x"); });
  EXPECT_EQ(answers.texts, (std::vector<std::string>{"x", "x"}));
}

TEST(PushWindowTest, AnswersAreMadeAfreshForEachCopy) {
  PushWindow window(1, 4);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers answers;
  int made = 0;
  ASSERT_TRUE(window.Begin(0, 1, 1, answers.Take()).ok());
  window.Finish(0, 1, 1, true, [&made] { return PayloadOf(std::to_string(++made)); });
  ASSERT_TRUE(window.Begin(0, 1, 1, answers.Take()).ok());
  EXPECT_EQ(answers.texts, (std::vector<std::string>{"1", "2"}));
}

TEST(PushWindowTest, ARequestThatTakesLongKeepsNothingBehindItInTheWindow) {
  PushWindow window(1, 3);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers slow, answers;
  ASSERT_EQ(*window.Begin(0, 1, 1, slow.Take()), Verdict::kNew);
  for (uint64_t sequence = 2; sequence <= 20; ++sequence) {
    ASSERT_EQ(*window.Begin(0, 1, sequence, answers.Take()), Verdict::kNew);
    window.Finish(0, 1, sequence, true, [] { return Payload(); });
  }
  EXPECT_EQ(window.Begin(0, 1, 5, answers.Take()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*window.Begin(0, 1, 1, slow.Take()), Verdict::kHandled);
  window.Finish(0, 1, 1, true, [] { return PayloadOf("x"); });
  EXPECT_EQ(slow.texts, (std::vector<std::string>{"x", "x"}));
}

TEST(PushWindowTest, WhatIsOlderThanTheWindowIsRefusedNotRepeated) {
  PushWindow window(1, 3);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers answers;
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    ASSERT_EQ(*window.Begin(0, 1, sequence, answers.Take()), Verdict::kNew);
    window.Finish(0, 1, sequence, true, [] { return Payload(); });
  }
  EXPECT_EQ(*window.Begin(0, 1, 4, answers.Take()), Verdict::kHandled);
  EXPECT_EQ(window.Begin(0, 1, 1, answers.Take()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(window.applied(), 5);
}

TEST(PushWindowTest, RequestsMayComeOutOfOrderWithinTheWindow) {
  PushWindow window(1, 3);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers answers;
  for (const uint64_t sequence : {3, 1, 2}) {
    EXPECT_EQ(*window.Begin(0, 1, sequence, answers.Take()), Verdict::kNew) << sequence;
    window.Finish(0, 1, sequence, true, [] { return Payload(); });
  }
}

TEST(PushWindowTest, WhatIsBeingHandledIsNeverForgotten) {
  PushWindow window(1, 2);
  ASSERT_TRUE(window.StartLife(0, 1));
  Answers slow, others;
  ASSERT_EQ(*window.Begin(0, 1, 1, slow.Take()), Verdict::kNew);
  for (uint64_t sequence = 2; sequence <= 9; ++sequence) {
    ASSERT_EQ(*window.Begin(0, 1, sequence, others.Take()), Verdict::kNew);
    window.Finish(0, 1, sequence, true, [] { return Payload(); });
  }
  EXPECT_EQ(*window.Begin(0, 1, 1, slow.Take()), Verdict::kHandled);
  window.Finish(0, 1, 1, true, [] { return PayloadOf("slow"); });
  EXPECT_EQ(slow.texts, (std::vector<std::string>{"slow", "slow"}));
}

TEST(PushWindowTest, WhoComesAfterARequestWaitsForItsEnd) {
  PushWindow window(2, 2);
  ASSERT_TRUE(window.StartLife(0, 1));
  ASSERT_TRUE(window.StartLife(1, 1));
  std::string order;
  Answers answers;
  window.After(0, 1, 1, [&] { order += "a"; });  // it has not come yet
  EXPECT_EQ(*window.Begin(0, 1, 1, answers.Take()), Verdict::kNew);
  window.After(0, 1, 1, [&] { order += "b"; });  // it is being handled
  EXPECT_EQ(*window.Begin(1, 1, 1, answers.Take()), Verdict::kNew);
  window.Finish(1, 1, 1, true, [] { return PayloadOf("other"); });
  EXPECT_EQ(order, "") << "another trainer's";
  window.Finish(0, 1, 1, true, [&] {
    order += "!";
    return PayloadOf("done");
  });
  EXPECT_EQ(order, "!ab") << "its own answer first";
  window.After(0, 1, 1, [&] { order += "c"; });  // it is over
  EXPECT_EQ(order, "!abc");
  for (uint64_t sequence : {2, 3, 4}) {
    EXPECT_EQ(*window.Begin(0, 1, sequence, answers.Take()), Verdict::kNew);
    window.Finish(0, 1, sequence, true, [] { return PayloadOf("done"); });
  }
  window.After(0, 1, 1, [&] { order += "d"; });  // it is forgotten
  window.After(0, 1, 9, [&] { order += "e"; });
  window.After(0, 2, 9, [&] { order += "f"; });  // of a life that is not the trainer's
  EXPECT_EQ(order, "!abcdf");
  window.CallAll();
  EXPECT_EQ(order, "!abcdfe");
}

TEST(PushWindowTest, ATrainerHasOneLife) {
  PushWindow window(2, 4);
  Answers answers;
  EXPECT_FALSE(window.HasLife(0));
  EXPECT_EQ(window.Begin(0, 1, 1, answers.Take()).status().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(window.CheckLife(0, 0).ok()) << "no life is not a life";
  ASSERT_TRUE(window.StartLife(0, 5));
  ASSERT_TRUE(window.StartLife(1, 5));
  EXPECT_TRUE(window.HasLife(0));
  EXPECT_EQ(*window.Begin(0, 5, 1, answers.Take()), Verdict::kNew);
  EXPECT_EQ(*window.Begin(1, 5, 1, answers.Take()), Verdict::kNew);
  EXPECT_TRUE(window.StartLife(0, 5)) << "a repeated handshake forgets nothing";
  EXPECT_EQ(*window.Begin(0, 5, 1, answers.Take()), Verdict::kHandled);
  for (const uint64_t other : {4, 6}) {
    EXPECT_FALSE(window.StartLife(0, other));
    EXPECT_EQ(window.CheckLife(0, other).code(), absl::StatusCode::kAborted);
    EXPECT_EQ(window.Begin(0, other, 2, answers.Take()).status().code(),
              absl::StatusCode::kAborted);
  }
  EXPECT_TRUE(answers.texts.empty());
  EXPECT_TRUE(window.CheckLife(0, 5).ok());
  window.Finish(0, 5, 1, true, [] { return PayloadOf("done"); });
  EXPECT_EQ(answers.texts, (std::vector<std::string>{"done", "done"}));
}

}  // namespace
}  // namespace flotilla
