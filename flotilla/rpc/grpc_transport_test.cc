// Properties of the gRPC transport only: limits, foreign clients on the port, the environment.
#include "flotilla/rpc/grpc_transport.h"

#include <arpa/inet.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

class EchoService : public Service {
 public:
  void Handle(Payload request, ReplyCallback reply) override {
    ++handled;
    reply(std::move(request));
  }
  std::atomic<int> handled = 0;
};

Status Ask(Transport& transport, size_t bytes) {
  Payload payload;
  const std::string text(bytes, 'x');
  payload.AddCopy(text.data(), text.size());
  std::promise<Status> ended;
  transport.Call(0, std::move(payload), 10'000,
                 [&](const StatusOr<Payload>& reply) { ended.set_value(reply.status()); });
  return ended.get_future().get();
}

TEST(GrpcTransportTest, AddressesAreChecked) {
  EXPECT_FALSE(ConnectGrpc({}, {}).ok());
  EXPECT_FALSE(ConnectGrpc({"host"}, {}).ok());
  EXPECT_EQ(ConnectGrpc({"a:1", "b:1", "a:1"}, {}).status().message(),
            "server address a:1 is given twice");
  EXPECT_FALSE(ConnectGrpc({"a:1"}, {.chunk_bytes = 1}).ok());
}

TEST(GrpcTransportTest, ARequestThatIsTooLargeIsNotSent) {
  EchoService service;
  const GrpcOptions options{.max_message_bytes = 10'000};
  const auto listener = *ListenGrpc("127.0.0.1:0", &service, options);
  const auto transport = *ConnectGrpc({listener->address()}, options);
  EXPECT_TRUE(Ask(*transport, 10'000).ok());
  const Status status = Ask(*transport, 10'001);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(service.handled, 1);
}

TEST(GrpcTransportTest, TheServerRefusesWhatAClientShouldNotHaveSent) {
  EchoService service;
  const auto listener = *ListenGrpc("127.0.0.1:0", &service, {.max_message_bytes = 10'000});
  const auto transport = *ConnectGrpc({listener->address()}, {});
  const Status status = Ask(*transport, 3'000'000);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.ToString().find("at most 10000"), std::string::npos) << status;
  EXPECT_EQ(service.handled, 0);
  EXPECT_TRUE(Ask(*transport, 10'000).ok());
}

// Answers every request with this number of bytes.
class LargeAnswer : public Service {
 public:
  explicit LargeAnswer(size_t bytes) : text_(bytes, 'x') {}
  void Handle(Payload, ReplyCallback reply) override {
    Payload payload;
    payload.AddCopy(text_.data(), text_.size());
    reply(std::move(payload));
  }

 private:
  const std::string text_;
};

TEST(GrpcTransportTest, AnAnswerThatIsTooLargeIsAnError) {
  LargeAnswer service(100'000);
  const auto listener = *ListenGrpc("127.0.0.1:0", &service, {});
  // Too large for the client.
  const auto picky = *ConnectGrpc({listener->address()}, {.max_message_bytes = 99'999});
  EXPECT_EQ(Ask(*picky, 1).code(), absl::StatusCode::kResourceExhausted);
  // Too large for the server.
  const auto small = *ListenGrpc("127.0.0.1:0", &service, {.max_message_bytes = 99'999});
  const auto transport = *ConnectGrpc({small->address()}, {});
  const Status status = Ask(*transport, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.ToString().find("an answer of 100000 bytes"), std::string::npos) << status;
}

// Sends a stream of foreign messages to any method; returns the status of the server.
grpc::Status SendRaw(const std::string& address, const std::string& method,
                     const std::vector<std::string>& messages) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  const auto next = [&] {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  next();
  for (const std::string& message : messages) {
    const grpc::Slice slice(message);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    if (!next()) break;
  }
  call->WritesDone(nullptr);
  next();
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  return status;
}

std::string Announce(uint64_t bytes) {
  return std::string(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
}

TEST(GrpcTransportTest, StreamsThatBreakTheRulesAreRefused) {
  EchoService service;
  const auto listener = *ListenGrpc("127.0.0.1:0", &service, {});
  const std::string& at = listener->address();
  const std::string ours = "/flotilla.Ps/Call";
  EXPECT_EQ(SendRaw(at, "/other/Method", {}).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(SendRaw(at, ours, {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SendRaw(at, ours, {"abc"}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SendRaw(at, ours, {Announce(10) + "abc"}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SendRaw(at, ours, {Announce(2) + "abc"}).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(SendRaw(at, ours, {Announce(UINT64_MAX) + "abc"}).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(service.handled, 0);
  const auto transport = *ConnectGrpc({at}, {});
  EXPECT_TRUE(Ask(*transport, 100).ok());
}

TEST(GrpcTransportTest, GarbageOnThePortDoesNotDisturbOthers) {
  EchoService service;
  const auto listener = *ListenGrpc("127.0.0.1:0", &service, {});
  const auto transport = *ConnectGrpc({listener->address()}, {});
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string& at = listener->address();
  name.sin_port = htons(static_cast<uint16_t>(std::stoi(at.substr(at.rfind(':') + 1))));
  for (uint64_t round = 0; round < 20; ++round) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    // Half of them begin like HTTP/2.
    std::string bytes = round % 2 == 0 ? "" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (uint64_t i = 0; i < 500; ++i) bytes += static_cast<char>(RngKey(round).Bits(i));
    send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(fd);
    EXPECT_TRUE(Ask(*transport, 1000).ok());
  }
  EXPECT_EQ(service.handled, 20);
}

TEST(GrpcTransportTest, ProxiesOfTheEnvironmentAreIgnored) {
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy"}) {
    setenv(name, "http://127.0.0.1:1", 1);
  }
  EchoService service;
  const auto listener = *ListenGrpc("127.0.0.1:0", &service, {});
  const auto transport = *ConnectGrpc({listener->address()}, {});
  EXPECT_TRUE(Ask(*transport, 10).ok());
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy"}) unsetenv(name);
}

}  // namespace
}  // namespace flotilla
