#include "flotilla/testing/fault_transport.h"

#include <gtest/gtest.h>

#include <future>

#include "flotilla/rpc/inproc_transport.h"

namespace flotilla {
namespace {

// Gives empty answers and counts requests.
class CountingService : public Service {
 public:
  void Handle(Payload, ReplyCallback reply) override {
    ++handled;
    reply(Payload());
  }
  std::atomic<int> handled = 0;
};

// Makes n calls one after the other; returns the number of successful ones.
int GoodCalls(Transport& transport, int n) {
  int good = 0;
  for (int i = 0; i < n; ++i) {
    std::promise<bool> ok;
    transport.Call(0, Payload(), 5000, [&](StatusOr<Payload> reply) { ok.set_value(reply.ok()); });
    good += ok.get_future().get();
  }
  return good;
}

struct Outcome {
  int good = 0;
  int handled = 0;
};

Outcome CallMany(const FaultOptions& options, int calls) {
  InprocNetwork network;
  CountingService service;
  const auto listener = network.Listen("a", &service);
  FaultTransport transport(network.Connect({"a"}), options);
  const int good = GoodCalls(transport, calls);
  transport.Close();
  return {good, service.handled};
}

TEST(FaultTransportTest, LostRepliesAreHandledAndLostRequestsAreNot) {
  const Outcome replies = CallMany({.lose_reply = 0.5}, 200);
  EXPECT_EQ(replies.handled, 200);
  EXPECT_GT(replies.good, 60);
  EXPECT_LT(replies.good, 140);
  const Outcome requests = CallMany({.lose_request = 0.5}, 200);
  EXPECT_EQ(requests.handled, requests.good);
  EXPECT_LT(requests.good, 140);
}

TEST(FaultTransportTest, RequestsThatAreSentTwiceAreHandledTwice) {
  const Outcome twice = CallMany({.send_twice = 1}, 50);
  EXPECT_EQ(twice.good, 50);
  EXPECT_EQ(twice.handled, 100);
}

TEST(FaultTransportTest, TheSameSeedGivesTheSameFaults) {
  const FaultOptions options{.seed = 4, .lose_reply = 0.3, .lose_request = 0.3};
  const Outcome first = CallMany(options, 100);
  const Outcome second = CallMany(options, 100);
  EXPECT_EQ(first.good, second.good);
  EXPECT_EQ(first.handled, second.handled);
}

TEST(FaultTransportTest, LateAnswersComeAndCloseWaitsForThem) {
  InprocNetwork network;
  CountingService service;
  const auto listener = network.Listen("a", &service);
  std::atomic<int> answered = 0;
  FaultTransport transport(network.Connect({"a"}), {.delay = 1, .max_delay_ms = 3});
  EXPECT_EQ(GoodCalls(transport, 5), 5);
  for (int i = 0; i < 20; ++i) {
    transport.Call(0, Payload(), 5000, [&](const StatusOr<Payload>&) { ++answered; });
  }
  transport.Close();
  EXPECT_EQ(answered, 20);
  EXPECT_EQ(transport.counts().delayed, 25);
}

}  // namespace
}  // namespace flotilla
