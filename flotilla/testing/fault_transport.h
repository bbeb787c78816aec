// A transport that injects faults, wrapped around any other: replies are lost after the request was
// handled, requests are lost before, requests arrive twice, answers are late. The fault of the n-th
// call depends only on the seed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "flotilla/base/mutex.h"
#include "flotilla/base/rng.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

// Probabilities of the faults of a call; all other calls succeed.
struct FaultOptions {
  uint64_t seed = 1;
  double lose_reply = 0;    // handled, but the caller gets Unavailable
  double lose_request = 0;  // not handled, the caller gets Unavailable
  double send_twice = 0;    // handled twice at the same time
  double delay = 0;         // the answer comes up to max_delay_ms later
  int64_t max_delay_ms = 20;
};

// Number of times each fault has happened.
struct FaultCounts {
  std::atomic<int64_t> calls = 0;
  std::atomic<int64_t> lost_replies = 0;
  std::atomic<int64_t> lost_requests = 0;
  std::atomic<int64_t> sent_twice = 0;
  std::atomic<int64_t> delayed = 0;
};

class FaultTransport : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, const FaultOptions& options);
  ~FaultTransport() override;

  int servers() const override { return inner_->servers(); }
  const std::string& address(int server) const override { return inner_->address(server); }
  void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) override;
  void Close() override;

  const FaultCounts& counts() const { return counts_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  ReplyCallback Delayed(ReplyCallback done, const RngKey& key);
  void Loop();

  const std::unique_ptr<Transport> inner_;
  const FaultOptions options_;
  FaultCounts counts_;

  Mutex mutex_;
  CondVar changed_;
  std::multimap<Time, std::function<void()>> late_ FL_GUARDED_BY(mutex_);
  bool closed_ FL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // delivers late answers
};

}  // namespace flotilla
