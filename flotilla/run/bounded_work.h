// Work of a process beside a training run, which watches over itself (run.h): reading rows, a race
// of models, what a launcher or a server prepares. It is told to end when the process is stopped or
// passes its bound of memory; it saves nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/memory_watch.h"
#include "flotilla/base/status.h"
#include "flotilla/run/run.h"
#include "flotilla/run/terminal.h"

namespace flotilla {

struct WorkBounds {
  int64_t max_memory = 0;  // JobOptions::max_memory; 0: none
  // What the memory is used for, as far as it is known. Called by any thread. May be empty.
  std::function<std::vector<MemoryPart>()> memory_parts;
};

// Runs `work`, which ends waits when the interrupt is raised, and itself when `stopped` is true:
// after a signal (or a stop by the host, if it has its own), and when the process has passed its
// bound. Returns its status; Cancelled after a stop, whose exit code is then the terminal's;
// ResourceExhausted, with what the memory is used for, if the bound was passed.
Status RunBounded(const WorkBounds& bounds, Terminal& terminal, const RunHost& host,
                  const std::function<Status(const Interrupt* interrupt,
                                             const std::function<bool()>& stopped)>& work);

}  // namespace flotilla
