// Turns Ctrl-C (SIGINT), SIGTERM and SIGHUP into a flag that a long task polls, and into an
// interrupt of what it waits for: the first one asks the task to finish its batch, save and return;
// a second SIGINT or SIGTERM ends the process at once. A second SIGHUP does not: a terminal that is
// closed sends several. Used by the programs around a trainer; the trainer itself only sees the
// question "stop?".
#pragma once

#include <signal.h>

#include "flotilla/base/interrupt.h"

namespace flotilla {

// Installs the handlers while it lives and puts the former ones back afterwards. A SIGHUP that is
// ignored, as under nohup, stays ignored. System calls that a signal interrupts go on (SA_RESTART):
// waits poll the interrupt.
// REQUIRES: one at a time in a process (signals belong to the process); construction and
// destruction on one thread. The questions may be asked from any thread.
class StopSignal {
 public:
  // The first signal raises `interrupt`, unless that is null. REQUIRES: interrupt outlives this.
  explicit StopSignal(Interrupt* interrupt = nullptr);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Has a signal come? Costs one relaxed load: ask after every batch.
  bool stopped() const { return signal() != 0; }
  // The first signal that came, 0 if none has.
  int signal() const;
  // What the program returns: 128 + signal, 0 while none has come. A second one ends the process
  // with 128 + that signal's number, with nothing flushed or destroyed.
  int exit_code() const { return stopped() ? 128 + signal() : 0; }

 private:
  struct sigaction former_int_ = {};
  struct sigaction former_term_ = {};
  struct sigaction former_hup_ = {};
};

}  // namespace flotilla
