#include "flotilla/client/heartbeat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/codec.h"

namespace flotilla {
namespace {

// Servers that answer as the test defines: at once, later, or never.
class PingTransport : public Transport {
 public:
  explicit PingTransport(int servers) : counts_(servers) {
    for (int s = 0; s < servers; ++s) names_.push_back(std::string(1, static_cast<char>('a' + s)));
  }
  ~PingTransport() override { PingTransport::Close(); }

  int servers() const override { return static_cast<int>(names_.size()); }
  const std::string& address(int server) const override { return names_[server]; }
  void Call(int server, Payload, int64_t, ReplyCallback done) override {
    ++counts_[server];
    if (answers) return done(answer);
    MutexLock lock(mutex_);
    kept_.push_back(std::move(done));
  }
  void Close() override { AnswerKept(absl::CancelledError("closed")); }

  // Answers the pings that have no answer yet.
  void AnswerKept(const StatusOr<Payload>& with) {
    std::vector<ReplyCallback> kept;
    {
      MutexLock lock(mutex_);
      kept.swap(kept_);
    }
    for (const ReplyCallback& done : kept) done(with);
  }
  int pings(int server) const { return counts_[server]; }

  std::atomic<bool> answers = true;
  Payload answer = EncodeResponse({}, {});

 private:
  std::vector<std::string> names_;
  std::vector<std::atomic<int>> counts_;
  Mutex mutex_;
  std::vector<ReplyCallback> kept_ FL_GUARDED_BY(mutex_);
};

class HeartbeatTest : public ::testing::Test {
 protected:
  void Make(int servers, int64_t silent_bound_ms = 10'000) {
    transport_ = std::make_unique<PingTransport>(servers);
    heartbeat_ = std::make_unique<Heartbeat>(
        transport_.get(), HeartbeatOptions{.interval_ms = 1, .silent_bound_ms = silent_bound_ms},
        &clock_, [] { return Payload(); },
        [this](const Status& error) {
          MutexLock lock(mutex_);
          if (error_.ok()) error_ = error;
        },
        [this](int server, uint64_t pauses, const std::string& stop_cause) {
          pauses_ = pauses;
          if (stop_cause.empty()) return;
          MutexLock lock(mutex_);
          stop_cause_ = fmt::format("{}: {}", server, stop_cause);
        },
        [this](std::string_view line) {
          MutexLock lock(mutex_);
          log_.emplace_back(line);
        });
  }
  void TearDown() override {
    heartbeat_->Stop();
    transport_->Close();
  }

  Status error() {
    MutexLock lock(mutex_);
    return error_;
  }
  std::vector<std::string> log() {
    MutexLock lock(mutex_);
    return log_;
  }
  // Waits until the thread has pinged and checked all servers once more.
  void WaitForLook() {
    const int before = transport_->pings(0);
    while (transport_->pings(0) < before + 2) std::this_thread::yield();
  }
  // In steps, with a check after each: a jump of the clock would be a pause of this process.
  void Advance(int64_t ms) {
    for (constexpr int64_t kStepMs = 1'000; ms > 0; ms -= kStepMs) {
      clock_.AdvanceMs(std::min(ms, kStepMs));
      WaitForLook();
    }
  }

  ManualClock clock_;
  std::unique_ptr<PingTransport> transport_;
  std::unique_ptr<Heartbeat> heartbeat_;
  Mutex mutex_;
  Status error_ FL_GUARDED_BY(mutex_);
  std::vector<std::string> log_ FL_GUARDED_BY(mutex_);
  std::string stop_cause_ FL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> pauses_ = 0;
};

TEST_F(HeartbeatTest, PingsEveryServerUntilItIsStopped) {
  Make(2);
  heartbeat_->Start();
  while (transport_->pings(0) < 3 || transport_->pings(1) < 3) std::this_thread::yield();
  heartbeat_->Stop();
  const int pings = transport_->pings(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // 20 intervals
  EXPECT_EQ(transport_->pings(0), pings);
  EXPECT_TRUE(error().ok()) << error();
}

TEST_F(HeartbeatTest, TheErrorThatAServerAnswersWithIsPassedOn) {
  Make(1);
  transport_->answer = EncodeError(absl::DataLossError("the cause"), true);
  heartbeat_->Start();
  WaitForLook();
  EXPECT_EQ(error(), absl::DataLossError("server 0 (a): the cause"));
}

TEST_F(HeartbeatTest, WhatAServerAsksForIsPassedOn) {
  Make(1);
  wire::ResponseHead head;
  head.mutable_ping()->set_pauses_asked(3);
  head.mutable_ping()->set_stop_cause("no memory");
  transport_->answer = EncodeResponse(std::move(head), {});
  heartbeat_->Start();
  WaitForLook();
  heartbeat_->Stop();
  EXPECT_EQ(pauses_, 3u);
  MutexLock lock(mutex_);
  EXPECT_EQ(stop_cause_, "0: no memory");
}

TEST_F(HeartbeatTest, AServerThatIsSilentForTooLongIsTakenForDead) {
  Make(1);
  transport_->answers = false;
  heartbeat_->Start();
  Advance(10'000);
  EXPECT_TRUE(error().ok()) << error();
  Advance(1);
  EXPECT_EQ(error().message(), "server 0 (a) has been silent for 10001 ms: taken for dead");
}

TEST_F(HeartbeatTest, ALateAnswerIsASignOfLife) {
  Make(1);
  transport_->answers = false;
  heartbeat_->Start();
  for (int i = 0; i < 5; ++i) {
    Advance(9'000);
    transport_->AnswerKept(transport_->answer);
  }
  EXPECT_TRUE(error().ok()) << error();
}

TEST_F(HeartbeatTest, AnAnswerToAnotherCallIsASignOfLife) {
  Make(2);
  transport_->answers = false;
  heartbeat_->Start();
  for (int i = 0; i < 5; ++i) {
    Advance(9'000);
    heartbeat_->Heard(0);
    if (i == 0) heartbeat_->Heard(1);
  }
  EXPECT_EQ(error().message(), "server 1 (b) has been silent for 11000 ms: taken for dead");
}

TEST_F(HeartbeatTest, AServerIsNotBlamedForAPauseOfThisProcess) {
  Make(1);
  transport_->answers = false;
  heartbeat_->Start();
  Advance(8'000);
  clock_.AdvanceMs(12'000);  // no look meanwhile
  WaitForLook();
  EXPECT_TRUE(error().ok()) << error();
  EXPECT_EQ(log(), std::vector<std::string>{"this process was paused for 12.0 s"});
  EXPECT_NEAR(heartbeat_->RecentPauseNanos() / 1e9, 12, 0.1);
  // Silence before and after the pause counts.
  Advance(3'000);
  EXPECT_FALSE(error().ok());
}

TEST_F(HeartbeatTest, APauseThatNobodyMindsExplainsNothing) {
  Make(1);
  heartbeat_->Start();
  WaitForLook();
  clock_.AdvanceMs(5'000);
  WaitForLook();
  EXPECT_EQ(log(), std::vector<std::string>{"this process was paused for 5.0 s"});
  EXPECT_EQ(heartbeat_->RecentPauseNanos(), 0);
  clock_.AdvanceMs(11'000);
  WaitForLook();
  EXPECT_GT(heartbeat_->RecentPauseNanos(), 0);
  Advance(5'001);  // long ago
  EXPECT_EQ(heartbeat_->RecentPauseNanos(), 0);
}

TEST_F(HeartbeatTest, WhatACallWaitsForIsToldEvery30Seconds) {
  Make(2);
  wire::ResponseHead head;
  head.mutable_ping()->set_waiting("waiting for trainer 1");
  transport_->answer = EncodeResponse(std::move(head), {});
  heartbeat_->Start();
  Advance(29'000);
  EXPECT_EQ(log().size(), 1u);
  Advance(2'000);
  EXPECT_EQ(log(), (std::vector<std::string>{"waiting for trainer 1", "waiting for trainer 1"}));
}

}  // namespace
}  // namespace flotilla
