// The server side of grpc_transport.h.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/address.h"
#include "flotilla/rpc/grpc_stream.h"
#include "flotilla/rpc/grpc_transport.h"
#include "flotilla/rpc/write_lanes.h"

namespace flotilla {

using namespace grpc_stream;  // NOLINT: the other half of this file

namespace {

// Calls that the listener prepares to accept in advance.
constexpr int kReadyCalls = 16;

class GrpcListener;
struct Gate;

// One stream on the server: reads a request, passes it to the service, writes the answer. Owned by
// the listener until it is done, and by the service as long as it may answer. Its gRPC objects are
// used only under the listener's gate.
class ServerCall : public Event, public std::enable_shared_from_this<ServerCall> {
 public:
  ServerCall(GrpcListener* listener, const GrpcOptions& options)
      : options_(options), listener_(listener), request_(options.max_message_bytes) {}

  void Accept(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue) {
    service->RequestCall(&rpc_->context, &rpc_->stream, queue, queue, TagOf(this));
  }

  void Happened(bool ok) override;

 private:
  friend class GrpcListener;
  enum class State { kAccepting, kReading, kHandling, kWriting, kFinishing };
  struct Rpc {
    Rpc() : stream(&context) {}
    grpc::GenericServerContext context;
    grpc::GenericServerAsyncReaderWriter stream;
    grpc::ByteBuffer incoming;
  };

  // These and Reply REQUIRE: the gate is open and held.
  // Returns true if the request is complete.
  bool Received(bool ok);
  void WriteNext();
  void Refuse(const Status& error);

  void HandOver();
  // Returns whether a large answer may be written now; otherwise `start` is called when it may.
  bool EnterLane(Gate& gate, std::function<void()> start);
  void ReplyIfOpen(Gate& gate, StatusOr<Payload> reply);
  void Reply(StatusOr<Payload> reply);

  const GrpcOptions options_;
  GrpcListener* const listener_;
  State state_ = State::kAccepting;
  std::optional<std::string> lane_;  // of a large answer
  std::optional<Rpc> rpc_{std::in_place};
  ChunkReader request_;
  std::optional<ChunkWriter> response_;
};

// Open until the listener closes: a thread that starts a gRPC operation holds it shared meanwhile.
// Late replies keep it alive after the listener.
struct Gate {
  SharedMutex mutex;
  bool open FL_GUARDED_BY(mutex) = true;
  // Of large answers, by the other end of the connection. Entered and left without the mutex.
  WriteLanes<std::string> lanes;
};

class GrpcListener : public Listener {
 public:
  GrpcListener(Service* service, const GrpcOptions& options)
      : options_(options), service_(service), gate_(std::make_shared<Gate>()) {}
  ~GrpcListener() override { Close(0); }

  Status Start(const std::string& address) {
    FL_RETURN_IF_ERROR(CheckBindable(address));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterAsyncGenericService(&generic_);
    SetCommonArguments(
        options_, [&](const char* name, int value) { builder.AddChannelArgument(name, value); });
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options_.max_calls_per_connection);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.SetResourceQuota(grpc::ResourceQuota("flotilla").Resize(options_.server_memory_bytes));
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      // Another process took the address since it was checked.
      Status status = CheckBindable(address);
      return status.ok() ? absl::UnavailableError("cannot listen at " + address) : status;
    }
    address_ = address.starts_with("unix:")
                   ? address
                   : fmt::format("{}:{}", address.substr(0, address.rfind(':')), port);
    for (int i = 0; i < kReadyCalls; ++i) AcceptOne();
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    const int threads =
        options_.server_threads > 0 ? options_.server_threads : std::clamp(cores, 1, 8);
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { RunEvents(queue_.get()); });
    }
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }

  void Close(int64_t grace_ms) override {
    MutexLock one_at_a_time(closing_);
    if (server_ == nullptr) return;
    server_->Shutdown(DeadlineIn(grace_ms));
    {
      ExclusiveLock alone(gate_->mutex);
      gate_->open = false;
      // Calls that wait for the service have no pending event; the others end with theirs.
      MutexLock lock(mutex_);
      std::erase_if(calls_, [](const std::shared_ptr<ServerCall>& call) {
        if (call->state_ != ServerCall::State::kHandling) return false;
        call->rpc_.reset();
        return true;
      });
    }
    queue_->Shutdown();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    server_.reset();
    MutexLock lock(mutex_);
    calls_.clear();
  }

  // REQUIRES: the gate is open and held, or the listener is starting.
  void AcceptOne() {
    auto call = std::make_shared<ServerCall>(this, options_);
    {
      MutexLock lock(mutex_);
      calls_.insert(call);
    }
    call->Accept(&generic_, queue_.get());
  }
  void Remove(const std::shared_ptr<ServerCall>& call) {
    MutexLock lock(mutex_);
    calls_.erase(call);
  }

  Service* service() const { return service_; }
  const std::shared_ptr<Gate>& gate() const { return gate_; }

 private:
  const GrpcOptions options_;
  Service* const service_;
  const std::shared_ptr<Gate> gate_;
  std::string address_;
  grpc::AsyncGenericService generic_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;

  Mutex closing_;
  Mutex mutex_;
  std::unordered_set<std::shared_ptr<ServerCall>> calls_ FL_GUARDED_BY(mutex_);
};

void ServerCall::Happened(bool ok) {
  const auto self = shared_from_this();
  const std::shared_ptr<Gate> gate = listener_->gate();
  {
    SharedLock hold(gate->mutex);
    const bool finished = state_ == State::kFinishing || (state_ == State::kWriting && !ok) ||
                          (state_ == State::kAccepting && !ok);
    if (finished || !gate->open) {
      listener_->Remove(self);
      hold.unlock();
      if (lane_) gate->lanes.Leave(*lane_);
      return;
    }
    if (state_ == State::kWriting) return WriteNext();
    // After a Read was started the next event may arrive at any time: state_ must not be used any
    // more.
    if (!Received(ok)) return;
  }
  HandOver();
}

bool ServerCall::Received(bool ok) {
  Status status;
  if (state_ == State::kAccepting) {
    listener_->AcceptOne();
    state_ = State::kReading;
    if (rpc_->context.method() != kMethod) {
      status = absl::UnimplementedError("unknown method " + rpc_->context.method());
    }
  } else if (!ok) {
    status = InvalidArgument("the request was cut off");
  } else {
    status = request_.Add(rpc_->incoming);
    rpc_->incoming.Clear();
  }
  if (status.ok() && request_.done()) {
    state_ = State::kHandling;
    return true;
  }
  if (status.ok()) {
    rpc_->stream.Read(&rpc_->incoming, TagOf(this));
  } else {
    Refuse(status);
  }
  return false;
}

// From here on the service owns the reply. After the gate has closed, replies are dropped: the
// listener, which the call must not use then, may be destroyed.
void ServerCall::HandOver() {
  listener_->service()->Handle(
      request_.TakePayload(),
      [self = shared_from_this(), gate = listener_->gate()](StatusOr<Payload> reply) {
        const bool large = reply.ok() && reply->size() > self->options_.chunk_bytes;
        if (large && !self->EnterLane(*gate, [=] { self->ReplyIfOpen(*gate, reply); })) return;
        self->ReplyIfOpen(*gate, std::move(reply));
      });
}

void ServerCall::ReplyIfOpen(Gate& gate, StatusOr<Payload> reply) {
  {
    SharedLock hold(gate.mutex);
    if (gate.open) return Reply(std::move(reply));
  }
  if (lane_) gate.lanes.Leave(*lane_);
}

bool ServerCall::EnterLane(Gate& gate, std::function<void()> start) {
  {
    SharedLock hold(gate.mutex);
    if (!gate.open) return false;
    lane_ = rpc_->context.peer();
  }
  return gate.lanes.Enter(*lane_, std::move(start));
}

void ServerCall::Reply(StatusOr<Payload> reply) {
  if (reply.ok() && reply->size() > options_.max_message_bytes) {
    reply = ResourceExhausted("an answer of {} bytes, at most {} are sent", reply->size(),
                              options_.max_message_bytes);
  }
  if (!reply.ok()) return Refuse(reply.status());
  state_ = State::kWriting;
  response_.emplace(*std::move(reply), options_.chunk_bytes);
  WriteNext();
}

void ServerCall::WriteNext() {
  const grpc::ByteBuffer chunk = response_->Next();
  if (response_->done()) {
    state_ = State::kFinishing;
    rpc_->stream.WriteAndFinish(chunk, grpc::WriteOptions(), grpc::Status::OK, TagOf(this));
  } else {
    rpc_->stream.Write(chunk, TagOf(this));
  }
}

void ServerCall::Refuse(const Status& error) {
  state_ = State::kFinishing;
  rpc_->stream.Finish(ToGrpc(error), TagOf(this));
}

}  // namespace

StatusOr<std::unique_ptr<Listener>> ListenGrpc(const std::string& address, Service* service,
                                               const GrpcOptions& options) {
  FL_RETURN_IF_ERROR(CheckOptions(options));
  auto listener = std::make_unique<GrpcListener>(service, options);
  FL_RETURN_IF_ERROR(listener->Start(address));
  return listener;
}

}  // namespace flotilla
