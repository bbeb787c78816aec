// Where the trainers of a run stand when they meet: between two batches, at the end of an epoch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/communicator/group.h"

namespace flotilla {

struct Standing {
  bool ended = false;   // has no batch of the epoch left
  bool wish = false;    // wants the run to end after this epoch (RunHost::on_epoch)
  bool stop = false;    // was told to stop
  int exit_code = 0;    // with `stop`: of its process
  uint64_t pauses = 0;  // number of the last pause that it knows of (Communicator::pauses_asked)
  // With `stop`: the error that the run ends with, one line; empty: none, it is stopped by a signal
  // or the program.
  std::string cause;
};

// The standing of all trainers together: all have ended, any has a wish or was told to stop, the
// largest numbers, the first cause. Collective: every trainer calls it with the same name and gets
// the same result.
StatusOr<Standing> StandingOfAll(Group& group, std::string_view name, const Standing& own);

}  // namespace flotilla
