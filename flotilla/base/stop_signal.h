// Turns Ctrl-C (SIGINT), SIGTERM and SIGHUP into a flag that a long task polls, and into an
// Interrupt of its blocking waits: the first signal asks the task to finish its batch, save and
// return; a second SIGINT or SIGTERM ends the process at once. A second SIGHUP does not, because a
// closing terminal sends several. Used by the programs that run a trainer; the trainer itself only
// polls a "stop?" callback.
#pragma once

#include <signal.h>

#include "flotilla/base/interrupt.h"

namespace flotilla {

// Installs the handlers for its lifetime and restores the previous ones afterwards. A SIGHUP that
// is ignored, as under nohup, stays ignored. System calls interrupted by a signal are restarted
// (SA_RESTART): blocking waits poll the interrupt instead.
// REQUIRES: one at a time in a process (signals belong to the process); construction and
// destruction on one thread. The accessors may be called from any thread.
class StopSignal {
 public:
  // The first signal raises `interrupt`, unless it is null. REQUIRES: interrupt outlives this.
  explicit StopSignal(Interrupt* interrupt = nullptr);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Whether a signal has arrived. Costs one relaxed load: cheap enough to check after every batch.
  bool stopped() const { return signal() != 0; }
  // The first signal that arrived, 0 if none has.
  int signal() const;
  // The exit code of the program: 128 + signal, 0 if none has arrived. A second signal ends the
  // process with 128 + its number, without flushing buffers or running destructors.
  int exit_code() const { return stopped() ? 128 + signal() : 0; }

 private:
  struct sigaction former_int_ = {};
  struct sigaction former_term_ = {};
  struct sigaction former_hup_ = {};
};

}  // namespace flotilla
