// The FLAGS_ variables of PaddlePaddle's tutorials, which control communication: read into our
// options, and shown as a table at the start of a trainer.
#pragma once

#include <optional>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/launch/role_environment.h"

namespace flotilla {

struct CommunicatorFlags {
  std::optional<int64_t> rpc_deadline_ms;  // unset: calls to a live server have no deadline
  std::optional<int> rpc_retry_times;  // unset: calls are repeated until silent_bound_ms is over
  int64_t silent_bound_ms = 10'000;    // FLAGS_worker_update_interval_secs

  // Applies them to the options of a client.
  void Apply(PsClientOptions* client) const;
  // "name value" lines for a trainer with these options; values set by a variable are marked.
  // Variables that the mode does not read are shown, and marked as such, only if they were set.
  std::string Table(const ModeOptions& options) const;

  std::string set;  // names of the variables that were set, separated by blanks
};

// Variables about a mode go to *mode, all others to the result. A variable that is set overrides
// the value in `flags` or *mode, which are our defaults or those of a program. Errors name the
// variable, its value and what was expected. A value that has no meaning here (merge_sparse_grad 0)
// is an error, and so is a name that begins with FLAGS_communicator_, FLAGS_rpc_ or FLAGS_worker_
// and that PaddlePaddle does not have either. Its other names are accepted and shown in the table.
StatusOr<CommunicatorFlags> CommunicatorFlagsFrom(const Environment& environment,
                                                  CommunicatorFlags flags, ModeOptions* mode);

}  // namespace flotilla
