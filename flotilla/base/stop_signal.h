// Turns Ctrl-C (SIGINT) and SIGTERM into a flag that a long task polls: the first one asks the task
// to finish its batch, save and return; a second one ends the process at once. Used by the programs
// around a trainer; the trainer itself only sees the question "stop?".
#pragma once

#include <signal.h>

namespace flotilla {

// Installs the handlers while it lives and puts the former ones back afterwards. System calls that
// a signal interrupts go on (SA_RESTART): a task blocked in one is left by the second signal.
// REQUIRES: one at a time in a process (signals belong to the process); construction and
// destruction on one thread. The questions may be asked from any thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Has a signal come? Costs one relaxed load: ask after every batch.
  bool stopped() const { return signal() != 0; }
  // The first signal that came, 0 if none has.
  int signal() const;
  // What the program returns: 128 + signal, 0 while none has come. A second signal ends the process
  // with 128 + that signal's number, with nothing flushed or destroyed.
  int exit_code() const { return stopped() ? 128 + signal() : 0; }

 private:
  struct sigaction former_int_ = {};
  struct sigaction former_term_ = {};
};

}  // namespace flotilla
