// A thread that periodically tells every server that this trainer is alive, and detects dead
// servers.
//
// Any answer of a server is a sign of life: to a ping, even a late one, and to any other call. Time
// in which this process itself was paused does not count against the servers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/pause_watch.h"
#include "flotilla/base/status.h"
#include "flotilla/rpc/transport.h"

namespace flotilla {

struct HeartbeatOptions {
  int64_t interval_ms = 500;
  // A server that is silent for this long is considered dead.
  int64_t silent_bound_ms = 10'000;
};

// Thread-safe.
class Heartbeat {
 public:
  using Asks = std::function<void(int server, uint64_t pauses, const std::string& stop_cause)>;

  // `ping` makes the request. `fail` is called, by threads of the heartbeat or the transport, with
  // the error that a server answers with or if a server is silent; `asks`, by a thread of the
  // transport, with every answer: the number of pauses asked for, and why the server asks to stop
  // (empty: it does not). `log` receives, every 30 s, what a call of this trainer waits for, and
  // pauses of this process. The transport must be closed before the heartbeat is destroyed, and
  // outlive it.
  Heartbeat(Transport* transport, const HeartbeatOptions& options, const Clock* clock,
            std::function<Payload()> ping, std::function<void(const Status&)> fail, Asks asks,
            LogLine log);
  ~Heartbeat();

  void Start();
  // No ping is sent afterwards. Answers may still arrive until the transport is closed.
  void Stop();

  // The server has sent something.
  void Heard(int server);

  // The duration in nanoseconds of a recent pause of this process, if it was long enough for its
  // peers to consider it dead; otherwise 0.
  int64_t RecentPauseNanos() const;

 private:
  void Loop();
  void Ping(int server);
  void TellWait(std::string_view waiting);
  // This process was paused for this long, until now.
  void NotePause(int64_t now_nanos, int64_t paused_nanos);
  // Calls `fail` if a server has been silent for too long at that time.
  void CheckServers(int64_t now_nanos);

  Transport* const transport_;
  const HeartbeatOptions options_;
  const Clock* const clock_;
  const std::function<Payload()> ping_;
  const std::function<void(const Status&)> fail_;
  const Asks asks_;
  const LogLine log_;
  std::vector<std::atomic<int64_t>> heard_nanos_;  // by server
  PauseWatch watch_;
  std::atomic<int64_t> pause_nanos_ = 0;      // the last pause
  std::atomic<int64_t> pause_end_nanos_ = 0;  // its end
  std::atomic<int64_t> told_wait_nanos_ = 0;

  mutable Mutex mutex_;
  CondVar wake_;
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace flotilla
