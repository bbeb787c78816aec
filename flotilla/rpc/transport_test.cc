// The contract of transport.h, on every wire.
#include "flotilla/rpc/transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "flotilla/base/mutex.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/inproc_transport.h"

namespace flotilla {
namespace {

enum class Wire { kInproc, kTcp, kUnix };

std::string TextOf(const Payload& payload) {
  std::string text(payload.size(), '\0');
  PayloadReader(payload).Read(text.data(), text.size());
  return text;
}

Payload PayloadOf(const std::string& text) {
  Payload payload;
  payload.AddCopy(text.data(), text.size());
  return payload;
}

// A service whose behaviour the test defines.
class TestService : public Service {
 public:
  using Handler = std::function<void(Payload request, ReplyCallback reply)>;
  explicit TestService(Handler handler) : handler_(std::move(handler)) {}
  void Handle(Payload request, ReplyCallback reply) override {
    handler_(std::move(request), std::move(reply));
  }

 private:
  const Handler handler_;
};

void Echo(Payload request, const ReplyCallback& reply) { reply(std::move(request)); }

class TransportTest : public ::testing::TestWithParam<Wire> {
 protected:
  StatusOr<std::unique_ptr<Listener>> Listen(Service* service, const std::string& address = "") {
    switch (GetParam()) {
      case Wire::kInproc:
        return network_.Listen(address.empty() ? "server" : address, service);
      case Wire::kTcp:
        return ListenGrpc(address.empty() ? "127.0.0.1:0" : address, service, options_);
      case Wire::kUnix:
        break;
    }
    return ListenGrpc(address.empty() ? "unix:" + temp_.path() + "/s" : address, service, options_);
  }

  std::unique_ptr<Transport> Connect(const std::string& address) {
    if (GetParam() == Wire::kInproc) return network_.Connect({address});
    auto transport = ConnectGrpc({address}, options_);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }

  // Makes one call and waits for it.
  static StatusOr<std::string> Ask(Transport& transport, const std::string& text,
                                   int64_t timeout_ms = 60'000) {
    auto answer = std::make_shared<std::promise<StatusOr<Payload>>>();
    transport.Call(0, PayloadOf(text), timeout_ms,
                   [answer](StatusOr<Payload> reply) { answer->set_value(std::move(reply)); });
    StatusOr<Payload> reply = answer->get_future().get();
    if (!reply.ok()) return reply.status();
    return TextOf(*reply);
  }

  GrpcOptions options_;
  InprocNetwork network_;
  TempDir temp_;
};

std::string NameOf(const ::testing::TestParamInfo<Wire>& info) {
  switch (info.param) {
    case Wire::kInproc:
      return "Inproc";
    case Wire::kTcp:
      return "Tcp";
    case Wire::kUnix:
      return "Unix";
  }
  return "";
}
INSTANTIATE_TEST_SUITE_P(OnEveryWire, TransportTest,
                         ::testing::Values(Wire::kInproc, Wire::kTcp, Wire::kUnix), NameOf);

TEST_P(TransportTest, BringsARequestThereAndTheAnswerBack) {
  TestService service([](Payload request, const ReplyCallback& reply) {
    reply(PayloadOf("got " + TextOf(request)));
  });
  const auto listener = Listen(&service);
  ASSERT_TRUE(listener.ok()) << listener.status();
  const auto transport = Connect((*listener)->address());
  EXPECT_EQ(transport->servers(), 1);
  EXPECT_EQ(transport->address(0), (*listener)->address());
  EXPECT_EQ(*Ask(*transport, "this"), "got this");
  EXPECT_EQ(*Ask(*transport, ""), "got ");
}

TEST_P(TransportTest, PayloadsOfAllSizesAroundAChunkArriveWhole) {
  options_.chunk_bytes = 1024;
  TestService service(Echo);
  const auto listener = Listen(&service);
  const auto transport = Connect((*listener)->address());
  for (const size_t size : {0, 1, 1015, 1016, 1017, 1023, 1024, 1025, 2048, 100'000}) {
    std::string text(size, '\0');
    for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 2654435761u >> 24);
    const auto answer = Ask(*transport, text);
    ASSERT_TRUE(answer.ok()) << size << answer.status();
    EXPECT_TRUE(*answer == text) << size;
  }
}

TEST_P(TransportTest, SlicesAreSentAsTheyStandAndReleasedAfterwards) {
  TestService service(Echo);
  const auto listener = Listen(&service);
  const auto transport = Connect((*listener)->address());
  auto owner = std::make_shared<const std::vector<char>>(500'000, 'x');
  const std::weak_ptr<const std::vector<char>> watch = owner;
  Payload request;
  for (int i = 0; i < 5; ++i) request.Add(SliceOf(owner, static_cast<size_t>(i), 100'000));
  owner = nullptr;
  std::promise<size_t> size;
  transport->Call(0, std::move(request), 10'000,
                  [&](StatusOr<Payload> reply) { size.set_value(reply.ok() ? reply->size() : 0); });
  EXPECT_EQ(size.get_future().get(), 500'000u);
  transport->Close();
  (*listener)->Close(0);
  EXPECT_TRUE(watch.expired());
}

TEST_P(TransportTest, ManyCallsAreUnderWayTogetherAndAnswersComeInAnyOrder) {
  Mutex mutex;
  std::vector<std::pair<std::string, ReplyCallback>> waiting;
  constexpr int kCalls = 50;
  // Answers the last request first, when all have arrived; no thread waits meanwhile.
  TestService service([&](Payload request, ReplyCallback reply) {
    std::vector<std::pair<std::string, ReplyCallback>> ready;
    {
      MutexLock lock(mutex);
      waiting.emplace_back(TextOf(request), std::move(reply));
      if (waiting.size() == kCalls) ready.swap(waiting);
    }
    for (auto at = ready.rbegin(); at != ready.rend(); ++at) at->second(PayloadOf(at->first));
  });
  const auto listener = Listen(&service);
  const auto transport = Connect((*listener)->address());
  std::vector<std::future<StatusOr<std::string>>> answers;
  std::vector<std::shared_ptr<std::promise<StatusOr<std::string>>>> promises;
  for (int i = 0; i < kCalls; ++i) {
    auto promise = std::make_shared<std::promise<StatusOr<std::string>>>();
    answers.push_back(promise->get_future());
    transport->Call(0, PayloadOf(std::to_string(i)), 10'000, [promise](StatusOr<Payload> reply) {
      promise->set_value(reply.ok() ? StatusOr<std::string>(TextOf(*reply)) : reply.status());
    });
  }
  for (int i = 0; i < kCalls; ++i) {
    const auto answer = answers[i].get();
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, std::to_string(i));
  }
}

TEST_P(TransportTest, ALateAnswerIsADeadlineThatNamesTheServer) {
  Mutex mutex;
  std::vector<ReplyCallback> kept;
  TestService service([&](const Payload&, ReplyCallback reply) {
    MutexLock lock(mutex);
    kept.push_back(std::move(reply));
  });
  const auto listener = Listen(&service);
  const auto transport = Connect((*listener)->address());
  const auto answer = Ask(*transport, "?", 50);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(answer.status().ToString().find((*listener)->address()), std::string::npos);
  // The answer is dropped, and the connection stays usable.
  MutexLock lock(mutex);
  for (const ReplyCallback& reply : kept) reply(PayloadOf("late"));
}

TEST_P(TransportTest, ErrorsOfTheServiceArriveWithCodeAndText) {
  TestService service(
      [](const Payload&, const ReplyCallback& reply) { reply(absl::OutOfRangeError("too far")); });
  const auto listener = Listen(&service);
  const auto transport = Connect((*listener)->address());
  const auto answer = Ask(*transport, "?");
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(answer.status().ToString().find("too far"), std::string::npos);
}

TEST_P(TransportTest, NobodyThereIsUnavailableAndNamed) {
  std::string address;
  {
    TestService service(Echo);
    address = (*Listen(&service))->address();
  }
  const auto transport = Connect(address);
  const auto answer = Ask(*transport, "?", 5000);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable) << answer.status();
  EXPECT_NE(answer.status().ToString().find(address), std::string::npos) << answer.status();
}

TEST_P(TransportTest, AServerThatGoesDuringACallIsUnavailable) {
  std::promise<ReplyCallback> taken;
  TestService service(
      [&](const Payload&, ReplyCallback reply) { taken.set_value(std::move(reply)); });
  auto listener = *Listen(&service);
  const auto transport = Connect(listener->address());
  std::promise<Status> ended;
  transport->Call(0, PayloadOf("?"), 60'000,
                  [&](const StatusOr<Payload>& reply) { ended.set_value(reply.status()); });
  const ReplyCallback late = taken.get_future().get();
  listener->Close(0);
  const Status status = ended.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_NE(status.ToString().find(listener->address()), std::string::npos) << status;
  listener = nullptr;
  late(PayloadOf("to nobody"));  // does no harm
}

TEST_P(TransportTest, AServerThatComesBackIsReachedAgain) {
  TestService service(Echo);
  auto listener = *Listen(&service);
  const std::string address = listener->address();
  const auto transport = Connect(address);
  EXPECT_TRUE(Ask(*transport, "a").ok());
  listener = nullptr;
  EXPECT_FALSE(Ask(*transport, "b").ok());
  auto again = Listen(&service, address);
  ASSERT_TRUE(again.ok()) << again.status();
  // The connection is reopened after a pause that the transport chooses.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  StatusOr<std::string> answer = absl::UnknownError("");
  while (!answer.ok() && std::chrono::steady_clock::now() < deadline) {
    answer = Ask(*transport, "c");
    std::this_thread::yield();
  }
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_P(TransportTest, CloseEndsCallsUnderWayAndLaterOnes) {
  Mutex mutex;
  std::vector<ReplyCallback> kept;
  TestService service([&](const Payload&, ReplyCallback reply) {
    MutexLock lock(mutex);
    kept.push_back(std::move(reply));
  });
  const auto listener = Listen(&service);
  const auto transport = Connect((*listener)->address());
  std::vector<Status> ended(10);
  std::atomic<int> calls = 0;
  for (Status& status : ended) {
    transport->Call(0, PayloadOf("?"), 60'000, [&](const StatusOr<Payload>& reply) {
      status = reply.status();
      ++calls;
    });
  }
  transport->Close();
  EXPECT_EQ(calls, 10);
  for (const Status& status : ended) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  }
  EXPECT_EQ(Ask(*transport, "later").status().code(), absl::StatusCode::kCancelled);
  transport->Close();
}

TEST_P(TransportTest, CloseOfAListenerLetsAnswersUnderWayOut) {
  std::promise<ReplyCallback> taken;
  TestService service(
      [&](const Payload&, ReplyCallback reply) { taken.set_value(std::move(reply)); });
  const auto listener = *Listen(&service);
  const auto transport = Connect(listener->address());
  std::promise<StatusOr<Payload>> answered;
  transport->Call(0, PayloadOf("?"), 60'000,
                  [&](StatusOr<Payload> reply) { answered.set_value(std::move(reply)); });
  const ReplyCallback reply = taken.get_future().get();
  std::thread closer([&] { listener->Close(30'000); });
  reply(PayloadOf("just in time"));
  const auto answer = answered.get_future().get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(TextOf(*answer), "just in time");
  closer.join();
}

TEST_P(TransportTest, AnAddressIsServedOnce) {
  TestService service(Echo);
  const auto listener = Listen(&service);
  const auto second = Listen(&service, (*listener)->address());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists) << second.status();
  EXPECT_NE(second.status().ToString().find((*listener)->address()), std::string::npos);
}

}  // namespace
}  // namespace flotilla
