#include "flotilla/client/heartbeat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "flotilla/rpc/codec.h"
#include "flotilla/rpc/inproc_transport.h"
#include "flotilla/testing/manual_clock.h"

namespace flotilla {
namespace {

class PingService : public Service {
 public:
  void Handle(Payload, ReplyCallback reply) override {
    ++pings;
    if (!silent) return reply(answer);
  }
  std::atomic<int> pings = 0;
  std::atomic<bool> silent = false;
  Payload answer = EncodeResponse({}, {});
};

TEST(HeartbeatTest, PingsEveryServerUntilItIsStopped) {
  InprocNetwork network;
  PingService first, second;
  const auto a = network.Listen("a", &first), b = network.Listen("b", &second);
  const auto transport = network.Connect({"a", "b"});
  ManualClock clock;
  Heartbeat heartbeat(
      transport.get(), {.interval_ms = 1}, &clock, [] { return Payload(); },
      [](const Status& error) { ADD_FAILURE() << error; });
  heartbeat.Start();
  while (first.pings < 3 || second.pings < 3) std::this_thread::yield();
  heartbeat.Stop();
  transport->Close();
  const int pings = first.pings;
  EXPECT_EQ(first.pings, pings);
}

TEST(HeartbeatTest, TheErrorThatAServerAnswersWithIsPassedOn) {
  InprocNetwork network;
  PingService service;
  service.answer = EncodeError(absl::DataLossError("the cause"), true);
  const auto listener = network.Listen("a", &service);
  const auto transport = network.Connect({"a"});
  ManualClock clock;
  std::promise<Status> failed;
  std::atomic<bool> told = false;
  Heartbeat heartbeat(
      transport.get(), {.interval_ms = 1}, &clock, [] { return Payload(); },
      [&](const Status& error) {
        if (!told.exchange(true)) failed.set_value(error);
      });
  heartbeat.Start();
  EXPECT_EQ(failed.get_future().get(), absl::DataLossError("server 0 (a): the cause"));
  heartbeat.Stop();
  transport->Close();
}

TEST(HeartbeatTest, AServerThatIsSilentForTooLongIsTakenForDead) {
  InprocNetwork network;
  PingService service;
  service.silent = true;
  const auto listener = network.Listen("a", &service);
  const auto transport = network.Connect({"a"});
  ManualClock clock;
  std::promise<Status> failed;
  std::atomic<bool> told = false;
  Heartbeat heartbeat(
      transport.get(), {.interval_ms = 1, .silent_bound_ms = 5'000}, &clock,
      [] { return Payload(); },
      [&](const Status& error) {
        if (!told.exchange(true)) failed.set_value(error);
      });
  heartbeat.Start();
  while (service.pings == 0) std::this_thread::yield();
  EXPECT_FALSE(told);
  clock.AdvanceMs(5'001);
  const Status status = failed.get_future().get();
  EXPECT_EQ(status.message(), "server 0 (a) has been silent for 5001 ms: taken for dead");
  heartbeat.Stop();
  transport->Close();
}

}  // namespace
}  // namespace flotilla
