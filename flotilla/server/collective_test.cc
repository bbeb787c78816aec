#include "flotilla/server/collective.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "flotilla/base/manual_clock_testing.h"

namespace flotilla {
namespace {

class CollectivesTest : public ::testing::Test {
 protected:
  static TensorReader TensorsOf(const TensorWriter& writer) {
    return std::move(DecodeRequest(EncodeRequest({}, writer))->tensors);
  }
  static wire::CollectiveRequest Request(wire::CollectiveKind kind, uint64_t number,
                                         const std::string& name) {
    wire::CollectiveRequest request;
    request.set_kind(kind);
    request.set_number(number);
    request.set_name(name);
    return request;
  }
  Collectives::Done Take(int trainer) {
    return [this, trainer](StatusOr<Payload> response) {
      answers_[trainer].push_back(std::move(response));
    };
  }
  void Gather(Collectives& collectives, int trainer, uint64_t number, const std::string& blob,
              const std::string& name = "g") {
    TensorWriter writer;
    writer.AddOwned(std::vector<uint8_t>(blob.begin(), blob.end()));
    collectives.Join(trainer, Request(wire::COLLECTIVE_GATHER, number, name), TensorsOf(writer),
                     Take(trainer));
  }
  // The blobs of an answer with their senders: "0:a 1:b".
  std::string Text(int trainer, size_t index = 0) {
    const StatusOr<Payload>& answer = answers_[trainer].at(index);
    if (!answer.ok()) return answer.status().ToString();
    auto response = *DecodeResponse(*answer);
    std::string text;
    for (const uint32_t from : response.head.collective().from()) {
      std::vector<uint8_t> blob;
      EXPECT_TRUE(response.tensors.ReadAll(&blob).ok());
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ", from,
                          std::string(blob.begin(), blob.end()));
    }
    return text + (response.head.collective().more() ? " more" : "");
  }

  ManualClock clock_;
  std::map<int, std::vector<StatusOr<Payload>>> answers_;
};

TEST_F(CollectivesTest, CompletesWhenAllHaveCome) {
  Collectives collectives(3, &clock_);
  Gather(collectives, 2, 0, "c");
  Gather(collectives, 0, 0, "a");
  EXPECT_TRUE(answers_.empty());
  Gather(collectives, 1, 0, "b");
  for (int t = 0; t < 3; ++t) EXPECT_EQ(Text(t), "0:a 1:b 2:c");
  EXPECT_EQ(collectives.next(), 1u);
}

TEST_F(CollectivesTest, ARepeatedCallIsAnsweredAgain) {
  Collectives collectives(2, &clock_);
  Gather(collectives, 0, 0, "a");
  Gather(collectives, 0, 0, "a");  // while it waits
  Gather(collectives, 1, 0, "b");
  EXPECT_EQ(answers_[0].size(), 2u);
  Gather(collectives, 0, 0, "a");  // and afterwards
  EXPECT_EQ(Text(0, 2), "0:a 1:b");
  EXPECT_EQ(collectives.next(), 1u);
}

TEST_F(CollectivesTest, OldAndFutureNumbersAreRefused) {
  Collectives collectives(1, &clock_);
  for (uint64_t n = 0; n < 3; ++n) Gather(collectives, 0, n, "x");
  Gather(collectives, 0, 1, "x");
  Gather(collectives, 0, 9, "x");
  EXPECT_FALSE(answers_[0][3].ok());
  EXPECT_FALSE(answers_[0][4].ok());
  EXPECT_EQ(collectives.next(), 3u);
}

TEST_F(CollectivesTest, ThoseWhoLeftAreNotWaitedFor) {
  Collectives collectives(3, &clock_);
  Gather(collectives, 0, 0, "a");
  Gather(collectives, 1, 0, "b");
  collectives.Leave(2);
  EXPECT_EQ(Text(0), "0:a 1:b");
  Gather(collectives, 0, 1, "a");
  Gather(collectives, 1, 1, "b");
  EXPECT_EQ(Text(0, 1), "0:a 1:b");
}

TEST_F(CollectivesTest, ExchangeDeliversByAddress) {
  Collectives collectives(2, &clock_);
  for (int t = 0; t < 2; ++t) {
    auto request = Request(wire::COLLECTIVE_EXCHANGE, 0, "e");
    TensorWriter writer;
    for (uint32_t to = 0; to < 2; ++to) {
      request.add_to(to);
      const std::string blob = fmt::format("{}>{}", t, to);
      writer.AddOwned(std::vector<uint8_t>(blob.begin(), blob.end()));
    }
    request.set_more(t == 1);
    collectives.Join(t, request, TensorsOf(writer), Take(t));
  }
  EXPECT_EQ(Text(0), "0:0>0 1:1>0 more");
  EXPECT_EQ(Text(1), "0:0>1 1:1>1 more");
}

TEST_F(CollectivesTest, MismatchesFailForEveryone) {
  Collectives collectives(3, &clock_);
  Gather(collectives, 0, 0, "a", "epoch");
  Gather(collectives, 1, 0, "b", "save");
  for (int t = 0; t < 2; ++t) {
    ASSERT_FALSE(answers_[t].at(0).ok());
    const std::string text = answers_[t][0].status().ToString();
    EXPECT_NE(text.find("epoch"), std::string::npos) << text;
    EXPECT_NE(text.find("save"), std::string::npos) << text;
  }
  Gather(collectives, 2, 0, "c", "epoch");
  EXPECT_FALSE(answers_[2][0].ok());
}

TEST_F(CollectivesTest, WrongTensorsAreRefused) {
  Collectives collectives(2, &clock_);
  TensorWriter none;
  collectives.Join(0, Request(wire::COLLECTIVE_GATHER, 0, "g"), TensorsOf(none), Take(0));
  collectives.Join(0, Request(wire::COLLECTIVE_SUM, 0, "s"), TensorsOf(none), Take(0));
  collectives.Join(0, Request(wire::COLLECTIVE_UNKNOWN, 0, "u"), TensorsOf(none), Take(0));
  auto far = Request(wire::COLLECTIVE_EXCHANGE, 0, "e");
  far.add_to(7);
  TensorWriter one;
  one.AddOwned(std::vector<uint8_t>{1});
  ASSERT_EQ(answers_[0].size(), 3u);
  collectives.Join(1, far, TensorsOf(one), Take(1));
  for (const auto& answer : answers_[0]) {
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(answers_[1].at(0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CollectivesTest, AWaitNamesWhoIsMissingAndHowLongItHasLasted) {
  Collectives collectives(4, &clock_);
  EXPECT_FALSE(collectives.WaitOf(1).has_value());
  Gather(collectives, 1, 0, "b", "epoch");
  collectives.Leave(3);
  clock_.AdvanceMs(61'000);
  EXPECT_EQ(ToString(*collectives.WaitOf(1), clock_.NowNanos()),
            "waiting for trainer 0, 2 in collective call 'epoch', 61 s so far");
  EXPECT_FALSE(collectives.WaitOf(0).has_value());
  collectives.Fail(absl::AbortedError("over"));
  EXPECT_EQ(answers_[1].at(0).status().message(), "over");
  EXPECT_FALSE(collectives.WaitOf(1).has_value());
}

}  // namespace
}  // namespace flotilla
