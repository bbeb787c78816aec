// A trainer's wait for other trainers, for log messages. Such a wait has no deadline: it ends when
// they arrive, or when one of them is considered dead (liveness.h).
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flotilla {

struct PeerWait {
  std::string what;          // the operation: "collective call 'epoch 2'"
  std::vector<int> missing;  // the trainers that have not arrived
  int64_t since_nanos = 0;   // on the clock of the object that keeps the wait
};

// "waiting for trainer 1, 3 in collective call 'epoch 2', 60 s so far".
inline std::string ToString(const PeerWait& wait, int64_t now_nanos) {
  return fmt::format("waiting for trainer {} in {}, {} s so far", fmt::join(wait.missing, ", "),
                     wait.what, (now_nanos - wait.since_nanos) / 1'000'000'000);
}

}  // namespace flotilla
