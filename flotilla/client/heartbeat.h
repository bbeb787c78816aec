// A thread that tells every server, again and again, that this trainer is alive, and notices
// servers that are not.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct HeartbeatOptions {
  int64_t interval_ms = 1'000;
  // A server from which nothing came for so long is taken for dead.
  int64_t silent_bound_ms = 10'000;
};

// Thread-safe.
class Heartbeat {
 public:
  // `ping` makes the request. `fail` hears, from the heartbeat's or the transport's threads, of the
  // error that a server answers with or of a server that is silent. The transport must be closed
  // before it is destroyed, and outlive it.
  Heartbeat(Transport* transport, const HeartbeatOptions& options, const Clock* clock,
            std::function<Payload()> ping, std::function<void(const Status&)> fail);
  ~Heartbeat();

  void Start();
  // No ping is sent afterwards. Answers may still come until the transport is closed.
  void Stop();

 private:
  struct Peer;

  void Loop();
  void Ping(int server);
  // Fails when a server has been silent for too long.
  void CheckServers();

  Transport* const transport_;
  const HeartbeatOptions options_;
  const Clock* const clock_;
  const std::function<Payload()> ping_;
  const std::function<void(const Status&)> fail_;
  std::vector<std::shared_ptr<Peer>> peers_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace flotilla
