#include "flotilla/testing/fault_transport.h"

#include <utility>

namespace flotilla {

FaultTransport::FaultTransport(std::unique_ptr<Transport> inner, const FaultOptions& options)
    : inner_(std::move(inner)), options_(options) {
  thread_ = std::thread([this] { Loop(); });
}

FaultTransport::~FaultTransport() { FaultTransport::Close(); }

void FaultTransport::Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) {
  const auto call = static_cast<uint64_t>(counts_.calls.fetch_add(1));
  const RngKey key = RngKey(options_.seed).With(static_cast<uint64_t>(server)).With(call);
  if (key.Uniform(0) < options_.lose_request) {
    ++counts_.lost_requests;
    return done(absl::UnavailableError(address(server) + ": the request got lost"));
  }
  if (key.Uniform(1) < options_.send_twice) {
    ++counts_.sent_twice;
    inner_->Call(server, request, timeout_ms, [](const StatusOr<Payload>&) {});
  }
  if (key.Uniform(2) < options_.delay) {
    ++counts_.delayed;
    done = Delayed(std::move(done), key);
  }
  if (key.Uniform(3) < options_.lose_reply) {
    ++counts_.lost_replies;
    return inner_->Call(server, std::move(request), timeout_ms,
                        [this, server, done = std::move(done)](const StatusOr<Payload>&) {
                          done(absl::UnavailableError(address(server) + ": the reply got lost"));
                        });
  }
  inner_->Call(server, std::move(request), timeout_ms, std::move(done));
}

ReplyCallback FaultTransport::Delayed(ReplyCallback done, const RngKey& key) {
  const auto delay =
      std::chrono::milliseconds(key.Below(4, static_cast<uint64_t>(options_.max_delay_ms) + 1));
  return [this, delay, done = std::move(done)](StatusOr<Payload> reply) {
    MutexLock lock(mutex_);
    if (closed_) {
      lock.unlock();
      return done(std::move(reply));
    }
    late_.emplace(std::chrono::steady_clock::now() + delay,
                  [done, reply = std::move(reply)] { done(reply); });
    changed_.notify_all();
  };
}

void FaultTransport::Loop() {
  MutexLock lock(mutex_);
  while (!closed_ || !late_.empty()) {
    if (late_.empty()) {
      changed_.wait(mutex_);
    } else if (!closed_ && late_.begin()->first > std::chrono::steady_clock::now()) {
      changed_.wait_until(mutex_, Time(late_.begin()->first));
    } else {
      const auto answer = std::move(late_.begin()->second);
      late_.erase(late_.begin());
      lock.unlock();
      answer();
      lock.lock();
    }
  }
}

void FaultTransport::Close() {
  inner_->Close();
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace flotilla
