#include "flotilla/rpc/inproc_transport.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "flotilla/base/mutex.h"

namespace flotilla {

namespace {

using TimePoint = std::chrono::steady_clock::time_point;

}  // namespace

// One request in flight. The first of these events decides its outcome: the reply of the service,
// the deadline, or the end of one side.
class InprocCall {
 public:
  InprocCall(std::string address, ReplyCallback done)
      : address_(std::move(address)), done_(std::move(done)) {}

  void Finish(StatusOr<Payload> outcome) {
    if (finished_.exchange(true)) return;
    if (!outcome.ok()) outcome = Annotate(outcome.status(), address_);
    done_(std::move(outcome));
  }

 private:
  const std::string address_;
  const ReplyCallback done_;
  std::atomic<bool> finished_ = false;
};

// One listener's queue and threads.
class InprocEndpoint : public std::enable_shared_from_this<InprocEndpoint> {
 public:
  explicit InprocEndpoint(Service* service) : service_(service) {}

  void Start(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
  }

  void Send(Payload request, const std::shared_ptr<InprocCall>& call) {
    {
      MutexLock lock(mutex_);
      if (!closed_) {
        under_way_.insert(call);
        queue_.emplace_back(std::move(request), call);
        wake_.notify_all();
        return;
      }
    }
    call->Finish(absl::UnavailableError("the server has gone"));
  }

  void Close(int64_t grace_ms) {
    std::set<std::shared_ptr<InprocCall>> dropped;
    {
      MutexLock lock(mutex_);
      if (closed_) return;
      closed_ = true;
      wake_.wait_for(mutex_, std::chrono::milliseconds(grace_ms),
                     [this]() FL_REQUIRES(mutex_) { return under_way_.empty(); });
      queue_.clear();
      dropped.swap(under_way_);
      wake_.notify_all();
    }
    for (const auto& call : dropped) call->Finish(absl::UnavailableError("the server has gone"));
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Loop() {
    for (;;) {
      MutexLock lock(mutex_);
      while (queue_.empty() && !(closed_ && under_way_.empty())) wake_.wait(mutex_);
      if (queue_.empty()) return;
      auto [request, call] = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      service_->Handle(std::move(request),
                       [self = shared_from_this(), call = call](StatusOr<Payload> reply) {
                         self->Answered(call, std::move(reply));
                       });
    }
  }

  // A late reply finds its call dropped; then it does nothing else with the endpoint.
  void Answered(const std::shared_ptr<InprocCall>& call, StatusOr<Payload> reply) {
    call->Finish(std::move(reply));
    MutexLock lock(mutex_);
    under_way_.erase(call);
    if (closed_ && under_way_.empty()) wake_.notify_all();
  }

  Service* const service_;
  Mutex mutex_;
  CondVar wake_;
  std::deque<std::pair<Payload, std::shared_ptr<InprocCall>>> queue_ FL_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<InprocCall>> under_way_ FL_GUARDED_BY(mutex_);
  bool closed_ FL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

struct InprocNetwork::State {
  Mutex mutex;
  std::map<std::string, std::shared_ptr<InprocEndpoint>> endpoints FL_GUARDED_BY(mutex);
};

class InprocListener : public Listener {
 public:
  InprocListener(std::shared_ptr<InprocNetwork::State> network, std::string name,
                 std::shared_ptr<InprocEndpoint> endpoint)
      : network_(std::move(network)), name_(std::move(name)), endpoint_(std::move(endpoint)) {}
  ~InprocListener() override { InprocListener::Close(0); }

  const std::string& address() const override { return name_; }
  void Close(int64_t grace_ms) override {
    MutexLock one_at_a_time(closing_);
    {
      MutexLock lock(network_->mutex);
      const auto at = network_->endpoints.find(name_);
      if (at != network_->endpoints.end() && at->second == endpoint_) network_->endpoints.erase(at);
    }
    endpoint_->Close(grace_ms);
  }

 private:
  const std::shared_ptr<InprocNetwork::State> network_;
  const std::string name_;
  const std::shared_ptr<InprocEndpoint> endpoint_;
  Mutex closing_;
};

class InprocTransport : public Transport {
 public:
  InprocTransport(std::shared_ptr<InprocNetwork::State> network, std::vector<std::string> names)
      : network_(std::move(network)), names_(std::move(names)) {
    timer_ = std::thread([this] { WatchDeadlines(); });
  }
  ~InprocTransport() override { InprocTransport::Close(); }

  int servers() const override { return static_cast<int>(names_.size()); }
  const std::string& address(int server) const override { return names_[server]; }

  void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) override {
    auto call = std::make_shared<InprocCall>(
        names_[server], [this, done = std::move(done)](StatusOr<Payload> reply) {
          done(std::move(reply));
          MutexLock lock(mutex_);
          if (--under_way_ == 0) changed_.notify_all();
        });
    bool closed = false;
    {
      MutexLock lock(mutex_);
      ++under_way_;
      closed = closed_;
      const auto deadline =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
      if (!closed) deadlines_.emplace(deadline, call);
      changed_.notify_all();
    }
    if (closed) return call->Finish(absl::CancelledError("the connection was closed"));
    std::shared_ptr<InprocEndpoint> endpoint;
    {
      MutexLock lock(network_->mutex);
      const auto at = network_->endpoints.find(names_[server]);
      if (at != network_->endpoints.end()) endpoint = at->second;
    }
    if (endpoint == nullptr) return call->Finish(NobodyListens("nobody listens"));
    endpoint->Send(std::move(request), call);
  }

  void Close() override {
    MutexLock one_at_a_time(closing_);
    std::multimap<TimePoint, std::weak_ptr<InprocCall>> calls;
    {
      MutexLock lock(mutex_);
      closed_ = true;
      calls.swap(deadlines_);
      changed_.notify_all();
    }
    for (const auto& [deadline, weak] : calls) {
      if (const auto call = weak.lock()) {
        call->Finish(absl::CancelledError("the connection was closed"));
      }
    }
    if (timer_.joinable()) timer_.join();
    MutexLock lock(mutex_);
    while (under_way_ > 0) changed_.wait(mutex_);
  }

 private:
  void WatchDeadlines() {
    MutexLock lock(mutex_);
    while (!closed_) {
      if (deadlines_.empty()) {
        changed_.wait(mutex_);
        continue;
      }
      const auto first = deadlines_.begin();
      const std::shared_ptr<InprocCall> call = first->second.lock();
      if (call != nullptr && first->first > std::chrono::steady_clock::now()) {
        changed_.wait_until(mutex_, first->first);
        continue;
      }
      deadlines_.erase(first);
      if (call == nullptr) continue;
      lock.unlock();
      call->Finish(absl::DeadlineExceededError("no answer in time"));
      lock.lock();
    }
  }

  const std::shared_ptr<InprocNetwork::State> network_;
  const std::vector<std::string> names_;
  std::thread timer_;

  Mutex closing_;
  Mutex mutex_;
  CondVar changed_;
  std::multimap<TimePoint, std::weak_ptr<InprocCall>> deadlines_ FL_GUARDED_BY(mutex_);
  int64_t under_way_ FL_GUARDED_BY(mutex_) = 0;  // calls whose `done` has not returned
  bool closed_ FL_GUARDED_BY(mutex_) = false;
};

InprocNetwork::InprocNetwork() : state_(std::make_shared<State>()) {}
InprocNetwork::~InprocNetwork() = default;

StatusOr<std::unique_ptr<Listener>> InprocNetwork::Listen(const std::string& name, Service* service,
                                                          int threads) {
  MutexLock lock(state_->mutex);
  if (state_->endpoints.contains(name)) {
    return absl::AlreadyExistsError(fmt::format("cannot listen at {}: it is in use", name));
  }
  auto endpoint = std::make_shared<InprocEndpoint>(service);
  endpoint->Start(threads);
  state_->endpoints[name] = endpoint;
  return std::make_unique<InprocListener>(state_, name, std::move(endpoint));
}

std::unique_ptr<Transport> InprocNetwork::Connect(std::vector<std::string> names) {
  return std::make_unique<InprocTransport>(state_, std::move(names));
}

}  // namespace flotilla
