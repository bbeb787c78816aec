// The trainer side; grpc_listener.cc is the server side.
#include "flotilla/rpc/grpc_transport.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_set>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/address.h"
#include "flotilla/rpc/grpc_stream.h"
#include "flotilla/rpc/write_lanes.h"

namespace flotilla {

using namespace grpc_stream;  // NOLINT: the other half of this file

namespace {

class GrpcTransport;

// The messages of gRPC if the other machine refuses a connection, or there is no such unix socket.
bool SaysNobodyListens(std::string_view message) {
  return message.find("Connection refused") != std::string_view::npos ||
         message.find("No such file or directory") != std::string_view::npos;
}

// One request in flight. Writing and reading run concurrently, each as a chain of events; when both
// have ended, the status is requested. Destroys itself after it has called `done`.
class ClientCall {
 public:
  ClientCall(GrpcTransport* transport, int server, Payload request, int64_t timeout_ms,
             ReplyCallback done, const GrpcOptions& options)
      : transport_(transport),
        server_(server),
        large_(request.size() > options.chunk_bytes),
        done_(std::move(done)),
        request_(std::move(request), options.chunk_bytes),
        response_(options.max_message_bytes) {
    context_.set_deadline(DeadlineIn(timeout_ms));
  }

  bool large() const { return large_; }

  void Start(grpc::GenericStub* stub, grpc::CompletionQueue* queue) {
    // The metadata is sent with the first message, without an event of its own.
    context_.set_initial_metadata_corked(true);
    stream_ = stub->PrepareCall(&context_, kMethod, queue);
    stream_->StartCall(nullptr);
    Write();
    stream_->Read(&incoming_, TagOf(&read_event_));
  }

  void Cancel() { context_.TryCancel(); }

 private:
  void Write() {
    const grpc::ByteBuffer chunk = request_.Next();
    if (request_.done()) {
      stream_->WriteLast(chunk, grpc::WriteOptions(), TagOf(&write_event_));
    } else {
      stream_->Write(chunk, TagOf(&write_event_));
    }
  }

  void Wrote(bool ok);

  void Read(bool ok) {
    if (ok) {
      error_ = response_.Add(incoming_);
      incoming_.Clear();
      if (!error_.ok()) context_.TryCancel();
      if (error_.ok() && !response_.done()) return stream_->Read(&incoming_, TagOf(&read_event_));
    }
    EndChain();
  }

  void EndChain() {
    if (chains_.fetch_sub(1) == 1) stream_->Finish(&status_, TagOf(&finish_event_));
  }

  void Finished(bool);

  GrpcTransport* const transport_;
  const int server_;
  const bool large_;  // more than one message
  ReplyCallback done_;
  ChunkWriter request_;
  ChunkReader response_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
  Status error_;  // error of the received data
  std::atomic<int> chains_ = 2;
  MemberEvent<ClientCall, &ClientCall::Wrote> write_event_{this};
  MemberEvent<ClientCall, &ClientCall::Read> read_event_{this};
  MemberEvent<ClientCall, &ClientCall::Finished> finish_event_{this};
};

class GrpcTransport : public Transport {
 public:
  GrpcTransport(std::vector<std::string> addresses, const GrpcOptions& options)
      : addresses_(std::move(addresses)), options_(options) {
    grpc::ChannelArguments arguments;
    SetCommonArguments(options,
                       [&](const char* name, int value) { arguments.SetInt(name, value); });
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
    // Two transports of a process do not share connections: a test may run a whole cluster in one
    // process.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    // Timeout of an attempt to connect. The kernel repeats its first packet after 1 s, then after 2
    // s more: a new attempt is faster.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(options.max_backoff_ms));
    for (const std::string& address : addresses_) {
      stubs_.emplace_back(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    }
    thread_ = std::thread([this] { RunEvents(&queue_); });
  }
  ~GrpcTransport() override { Close(); }

  int servers() const override { return static_cast<int>(addresses_.size()); }
  const std::string& address(int server) const override { return addresses_[server]; }

  void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) override {
    if (request.size() > options_.max_message_bytes) {
      return done(ResourceExhausted("{}: a request of {} bytes, at most {} are sent",
                                    addresses_[server], request.size(),
                                    options_.max_message_bytes));
    }
    MutexLock lock(mutex_);
    if (closed_) {
      lock.unlock();
      return done(absl::CancelledError(addresses_[server] + ": the connection was closed"));
    }
    auto* call =
        new ClientCall(this, server, std::move(request), timeout_ms, std::move(done), options_);
    calls_.insert(call);
    const auto start = [this, call, server] { call->Start(&stubs_[server], &queue_); };
    if (!call->large() || lanes_.Enter(server, start)) start();
  }

  void Close() override {
    MutexLock one_at_a_time(closing_);
    {
      MutexLock lock(mutex_);
      closed_ = true;
      for (ClientCall* call : calls_) call->Cancel();
      while (!calls_.empty()) none_left_.wait(mutex_);
    }
    if (!thread_.joinable()) return;
    queue_.Shutdown();
    thread_.join();
  }

  // A call has reported to its caller; it is deleted here.
  void Remove(ClientCall* call) {
    {
      MutexLock lock(mutex_);
      calls_.erase(call);
      if (calls_.empty()) none_left_.notify_all();
    }
    delete call;
  }
  // A large request has been written, or will never be.
  void LeaveLane(int server) { lanes_.Leave(server); }
  bool closed() {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  const std::vector<std::string> addresses_;
  const GrpcOptions options_;
  std::vector<grpc::GenericStub> stubs_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
  WriteLanes<int> lanes_;  // by server

  Mutex closing_;
  Mutex mutex_;
  CondVar none_left_;
  std::unordered_set<ClientCall*> calls_ FL_GUARDED_BY(mutex_);
  bool closed_ FL_GUARDED_BY(mutex_) = false;
};

void ClientCall::Wrote(bool ok) {
  if (ok && !request_.done()) return Write();
  if (large_) transport_->LeaveLane(server_);
  EndChain();
}

void ClientCall::Finished(bool) {
  Status status = error_.ok() ? FromGrpc(status_) : error_;
  if (status.ok() && !response_.done()) {
    status = absl::UnavailableError("the answer was cut off");
  }
  if (!status.ok() && transport_->closed()) {
    status = absl::CancelledError("the connection was closed");
  } else if (absl::IsUnavailable(status) && SaysNobodyListens(Message(status))) {
    status = NobodyListens(Message(status));
  } else if (absl::IsCancelled(status)) {
    // Not cancelled by us: a server that closes drops its calls.
    status = absl::UnavailableError("the server dropped the call");
  }
  if (status.ok()) {
    done_(response_.TakePayload());
  } else {
    done_(Annotate(status, transport_->address(server_)));
  }
  transport_->Remove(this);
}

}  // namespace

GrpcOptions ControlOptions(int64_t silent_bound_ms) {
  GrpcOptions options;
  options.keepalive_ms = 1'000;
  options.max_backoff_ms = 250;
  options.keepalive_timeout_ms = std::clamp<int64_t>(silent_bound_ms / 4, 1'000, 10'000);
  return options;
}

StatusOr<std::unique_ptr<Transport>> ConnectGrpc(std::vector<std::string> addresses,
                                                 const GrpcOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(options));
  if (addresses.empty()) return InvalidArgument("no server addresses");
  for (size_t i = 0; i < addresses.size(); ++i) {
    FL_RETURN_IF_ERROR(CheckAddress(addresses[i]));
    if (std::find(addresses.begin(), addresses.begin() + i, addresses[i]) !=
        addresses.begin() + i) {
      return InvalidArgument("server address {} is given twice", addresses[i]);
    }
  }
  return std::make_unique<GrpcTransport>(std::move(addresses), options);
}

}  // namespace flotilla
