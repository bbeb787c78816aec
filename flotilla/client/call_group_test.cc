#include "flotilla/client/call_group.h"

#include <gtest/gtest.h>

#include <thread>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/codec.h"

namespace flotilla {
namespace {

// Answers as the test defines, in the calling thread; or keeps the call.
class ScriptedTransport : public Transport {
 public:
  using Script = std::function<std::optional<StatusOr<Payload>>(int server, int attempt)>;
  ScriptedTransport(int servers, Script script) : script_(std::move(script)) {
    for (int s = 0; s < servers; ++s) names_.push_back("host" + std::to_string(s));
    attempts_.resize(servers);
  }
  ~ScriptedTransport() override { ScriptedTransport::Close(); }

  int servers() const override { return static_cast<int>(names_.size()); }
  const std::string& address(int server) const override { return names_[server]; }
  void Call(int server, Payload, int64_t, ReplyCallback done) override {
    const auto answer = script_(server, ++attempts_[server]);
    if (answer.has_value()) return done(*answer);
    MutexLock lock(mutex_);
    kept_.push_back(std::move(done));
  }
  void Close() override { AnswerKept(absl::CancelledError("closed")); }
  // Answers the calls that were kept.
  void AnswerKept(const StatusOr<Payload>& with) {
    std::vector<ReplyCallback> kept;
    {
      MutexLock lock(mutex_);
      kept.swap(kept_);
    }
    for (const ReplyCallback& done : kept) done(with);
  }
  int attempts(int server) const { return attempts_[server]; }

 private:
  const Script script_;
  std::vector<std::string> names_;
  std::vector<int> attempts_;
  Mutex mutex_;
  std::vector<ReplyCallback> kept_ FL_GUARDED_BY(mutex_);
};

constexpr RetryOptions kFast = {.retry_times = 3, .first_backoff_ms = 1, .max_backoff_ms = 2};

constexpr int64_t kPatienceMs = 60'000;

Payload Good() { return EncodeResponse({}, {}); }

std::vector<ServerCall> CallsTo(int servers, int* taken = nullptr) {
  std::vector<ServerCall> calls(servers);
  for (int s = 0; s < servers; ++s) {
    calls[s].server = s;
    calls[s].timeout_ms = 1000;
    calls[s].take = [taken](ResponseMessage&) {
      if (taken != nullptr) ++*taken;
      return absl::OkStatus();
    };
  }
  return calls;
}

TEST(CallGroupTest, AllAnswersAreTaken) {
  ScriptedTransport transport(3, [](int, int) { return Good(); });
  CallSender sender(&transport, kFast, kPatienceMs);
  int taken = 0;
  EXPECT_TRUE(sender.Run("push", CallsTo(3, &taken)).ok());
  EXPECT_EQ(taken, 3);
  EXPECT_TRUE(sender.Run("nothing", {}).ok());
}

TEST(CallGroupTest, TransientFailuresAreTriedAgain) {
  ScriptedTransport transport(2, [](int server, int attempt) -> StatusOr<Payload> {
    if (server == 1 && attempt == 1) return absl::UnavailableError("broken");
    if (server == 1 && attempt == 2) return absl::DeadlineExceededError("slow");
    return Good();
  });
  CallSender sender(&transport, kFast, kPatienceMs);
  int taken = 0;
  EXPECT_TRUE(sender.Run("push", CallsTo(2, &taken)).ok());
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(transport.attempts(0), 1);
  EXPECT_EQ(transport.attempts(1), 3);
}

TEST(CallGroupTest, GivesUpAfterSoManyAttemptsAndNamesTheServer) {
  ScriptedTransport transport(2, [](int server, int) -> StatusOr<Payload> {
    if (server == 1) return absl::UnavailableError("host1: refused");
    return Good();
  });
  CallSender sender(&transport, kFast, kPatienceMs);
  const Status status = sender.Run("pull", CallsTo(2));
  EXPECT_EQ(status, absl::UnavailableError("pull: server 1, tried 4 times: host1: refused"));
  EXPECT_TRUE(sender.status().ok());  // of this call, not of the job
}

TEST(CallGroupTest, WithoutANumberFailuresAreTriedAgainUntilPatienceIsOver) {
  ScriptedTransport transport(1, [](int, int attempt) -> StatusOr<Payload> {
    if (attempt < 30) return absl::UnavailableError("host0: no route");
    return Good();
  });
  const RetryOptions by_time = {.retry_times = {}, .first_backoff_ms = 1, .max_backoff_ms = 2};
  CallSender patient(&transport, by_time, kPatienceMs);
  EXPECT_TRUE(patient.Run("push", CallsTo(1)).ok());
  EXPECT_EQ(transport.attempts(0), 30);
  ScriptedTransport dead(
      1, [](int, int) -> StatusOr<Payload> { return absl::UnavailableError("host0: no route"); });
  CallSender impatient(&dead, by_time, 20);
  EXPECT_EQ(impatient.Run("push", CallsTo(1)).code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(dead.attempts(0), 1);
}

TEST(CallGroupTest, AWayThatBreaksUnderEveryAttemptIsGivenUp) {
  constexpr int64_t kShortMs = 3;
  ScriptedTransport transport(1, [](int, int) -> StatusOr<Payload> {
    std::this_thread::sleep_for(std::chrono::milliseconds(kShortMs + 1));
    return absl::UnavailableError("host0: reset");
  });
  CallSender sender(&transport, {.retry_times = {}, .first_backoff_ms = 1, .max_backoff_ms = 1},
                    kShortMs);
  EXPECT_EQ(sender.Run("push", CallsTo(1)),
            absl::UnavailableError("push: server 0, tried 11 times: host0: reset"));
}

TEST(CallGroupTest, AServerWhoseProcessHasEndedIsGivenUpSoon) {
  ScriptedTransport transport(
      1, [](int, int) -> StatusOr<Payload> { return Annotate(NobodyListens("refused"), "host0"); });
  CallSender sender(&transport, {.retry_times = {}, .first_backoff_ms = 1, .max_backoff_ms = 2},
                    kPatienceMs);
  const Status status = sender.Run("push", CallsTo(1));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(status.message(), "push: server 0, tried 4 times: host0: refused");
}

TEST(CallGroupTest, ADeadlineThatPassesEveryTimeIsGivenUpSoon) {
  ScriptedTransport transport(
      1, [](int, int) -> StatusOr<Payload> { return absl::DeadlineExceededError("slow"); });
  CallSender sender(&transport, {.retry_times = {}, .first_backoff_ms = 1, .max_backoff_ms = 2},
                    kPatienceMs);
  EXPECT_EQ(sender.Run("push", CallsTo(1)),
            absl::DeadlineExceededError("push: server 0, tried 4 times: slow"));
}

TEST(CallGroupTest, PausesBetweenAttemptsDoubleUpToTheLargest) {
  std::vector<std::chrono::steady_clock::time_point> sent;
  ScriptedTransport transport(1, [&](int, int) -> StatusOr<Payload> {
    sent.push_back(std::chrono::steady_clock::now());
    return absl::UnavailableError("reset");
  });
  CallSender sender(&transport, {.retry_times = 4, .first_backoff_ms = 3, .max_backoff_ms = 12},
                    kPatienceMs);
  EXPECT_FALSE(sender.Run("push", CallsTo(1)).ok());
  ASSERT_EQ(sent.size(), 5u);
  const std::vector<int> at_least = {3, 6, 12, 12};
  for (size_t i = 0; i < at_least.size(); ++i) {
    EXPECT_GE(sent[i + 1] - sent[i], std::chrono::milliseconds(at_least[i])) << i;
  }
}

TEST(CallGroupTest, AnswersToCallsThatNobodyWaitsForAreDropped) {
  ScriptedTransport transport(
      1, [](int, int) -> std::optional<StatusOr<Payload>> { return std::nullopt; });
  CallSender sender(&transport, kFast, kPatienceMs);
  int taken = 0;
  sender.Start("push", CallsTo(1, &taken)).reset();
  transport.AnswerKept(Good());
  EXPECT_EQ(taken, 0);
  EXPECT_TRUE(sender.status().ok());
}

TEST(CallGroupTest, OwnersHearOfAnswersAndExplainErrors) {
  ScriptedTransport transport(2, [](int server, int) -> StatusOr<Payload> {
    if (server == 0) return EncodeError(NotFound("gone"), false);
    return ResourceExhausted("too large");
  });
  CallSender sender(&transport, kFast, kPatienceMs);
  std::vector<int> heard;
  sender.set_hooks({.heard = [&](int server) { heard.push_back(server); },
                    .explain = [](const Status& error) { return Annotate(error, "because"); },
                    .job_failed = {}});
  EXPECT_EQ(sender.Run("pull", CallsTo(1)).message(), "because: pull: server 0 (host0): gone");
  auto second = CallsTo(2);
  second.erase(second.begin());
  EXPECT_EQ(sender.Run("pull", std::move(second)).message(), "because: pull: server 1: too large");
  EXPECT_EQ(heard, std::vector<int>{0});
}

TEST(CallGroupTest, OtherFailuresAreNotTriedAgain) {
  ScriptedTransport transport(
      1, [](int, int) -> StatusOr<Payload> { return ResourceExhausted("host0: too large"); });
  CallSender sender(&transport, kFast, kPatienceMs);
  EXPECT_EQ(sender.Run("push", CallsTo(1)).message(), "push: server 0: host0: too large");
  EXPECT_EQ(transport.attempts(0), 1);
}

TEST(CallGroupTest, ErrorsInAnswersNameTheServerAndAreNotTriedAgain) {
  ScriptedTransport transport(
      1, [](int, int) { return EncodeError(absl::UnavailableError("no such"), false); });
  CallSender sender(&transport, kFast, kPatienceMs);
  EXPECT_EQ(sender.Run("pull", CallsTo(1)).message(), "pull: server 0 (host0): no such");
  EXPECT_EQ(transport.attempts(0), 1);
}

TEST(CallGroupTest, AnAnswerThatIsNoMessageIsAnError) {
  ScriptedTransport transport(1, [](int, int) { return Payload(); });
  CallSender sender(&transport, kFast, kPatienceMs);
  EXPECT_EQ(sender.Run("pull", CallsTo(1)).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CallGroupTest, AnErrorOfOneServerDoesNotWaitForTheOthers) {
  // Server 0 never answers.
  ScriptedTransport transport(2, [](int server, int) -> std::optional<StatusOr<Payload>> {
    if (server == 0) return std::nullopt;
    return EncodeError(NotFound("gone"), false);
  });
  CallSender sender(&transport, kFast, kPatienceMs);
  EXPECT_EQ(sender.Run("push", CallsTo(2)).code(), absl::StatusCode::kNotFound);
}

TEST(CallGroupTest, TheErrorThatEndsTheJobEndsAllCalls) {
  ScriptedTransport transport(2, [](int server, int) -> std::optional<StatusOr<Payload>> {
    if (server == 0) return std::nullopt;
    return EncodeError(absl::DataLossError("train.txt:3"), true);
  });
  CallSender sender(&transport, kFast, kPatienceMs);
  std::vector<Status> heard;
  sender.set_hooks({.heard = {}, .explain = {}, .job_failed = [&](const Status& error) {
                      heard.push_back(error);
                    }});
  auto calls = CallsTo(1);
  const auto waiting = sender.Start("barrier", std::move(calls));
  Status status;
  std::thread waiter([&] { status = waiting->Wait(); });
  EXPECT_EQ(sender.Run("push", CallsTo(2)).code(), absl::StatusCode::kDataLoss);
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(sender.Run("later", CallsTo(1)).code(), absl::StatusCode::kDataLoss);
  sender.Fail(absl::InternalError("second"));
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].message(), "push: server 1 (host1): train.txt:3");
}

TEST(CallGroupTest, ARequestIsSentAgainWhereTheServerAsksForIt) {
  ScriptedTransport transport(1, [](int, int attempt) {
    wire::ResponseHead head;
    head.mutable_push()->set_send_again(attempt < 3);
    return EncodeResponse(std::move(head), {});
  });
  CallSender sender(&transport, kFast, kPatienceMs);
  auto calls = CallsTo(1);
  calls[0].again = [](const wire::ResponseHead& head) {
    return head.push().send_again() ? std::optional<Payload>(Good()) : std::nullopt;
  };
  EXPECT_TRUE(sender.Run("push", std::move(calls)).ok());
  EXPECT_EQ(transport.attempts(0), 3);
}

TEST(CallGroupTest, AnErrorOfTakingAnAnswerIsTheCallsError) {
  ScriptedTransport transport(1, [](int, int) { return Good(); });
  CallSender sender(&transport, kFast, kPatienceMs);
  auto calls = CallsTo(1);
  calls[0].take = [](ResponseMessage&) { return InvalidArgument("too short"); };
  EXPECT_EQ(sender.Run("pull", std::move(calls)).message(), "pull: server 0 (host0): too short");
}

}  // namespace
}  // namespace flotilla
