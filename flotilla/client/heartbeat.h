// A thread that tells every server, again and again, that this trainer is alive, and notices
// servers that are not.
//
// Any sign of a server is life: the answer to a ping, also a late one, and that to any other call.
// Time in which this process itself did not run is not held against the servers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/pause_watch.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct HeartbeatOptions {
  int64_t interval_ms = 500;
  // A server from which nothing came for so long is taken for dead.
  int64_t silent_bound_ms = 10'000;
};

// Thread-safe.
class Heartbeat {
 public:
  // `ping` makes the request. `fail` hears, from the heartbeat's or the transport's threads, of the
  // error that a server answers with or of a server that is silent. `log` is told what a call of
  // this trainer waits for, every 30 s, and pauses of this process. The transport must be closed
  // before it is destroyed, and outlive it.
  Heartbeat(Transport* transport, const HeartbeatOptions& options, const Clock* clock,
            std::function<Payload()> ping, std::function<void(const Status&)> fail, LogLine log);
  ~Heartbeat();

  void Start();
  // No ping is sent afterwards. Answers may still come until the transport is closed.
  void Stop();

  // Something came from the server.
  void Heard(int server);

  // For how many nanoseconds this process did not run until lately, when that is long enough for
  // its peers to take it for dead; otherwise 0.
  int64_t RecentPauseNanos() const;

 private:
  void Loop();
  void Ping(int server);
  void TellWait(std::string_view waiting);
  // This process has not run for so long, until now.
  void NotePause(int64_t now_nanos, int64_t paused_nanos);
  // Fails when a server has been silent for too long at that time.
  void CheckServers(int64_t now_nanos);

  Transport* const transport_;
  const HeartbeatOptions options_;
  const Clock* const clock_;
  const std::function<Payload()> ping_;
  const std::function<void(const Status&)> fail_;
  const LogLine log_;
  std::vector<std::atomic<int64_t>> heard_nanos_;  // by server
  PauseWatch watch_;
  std::atomic<int64_t> pause_nanos_ = 0;      // the last pause
  std::atomic<int64_t> pause_end_nanos_ = 0;  // its end
  std::atomic<int64_t> told_wait_nanos_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace flotilla
