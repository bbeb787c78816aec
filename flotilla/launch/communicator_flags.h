// The tutorials' FLAGS_ variables: what a user of the original sets to steer communication, read
// into our options, and shown as a table at the start of a trainer.
#pragma once

#include <optional>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/launch/role_environment.h"

namespace flotilla {

struct CommunicatorFlags {
  std::optional<int64_t> rpc_deadline_ms;  // unset: calls to a living server have none
  std::optional<int> rpc_retry_times;  // unset: calls are repeated until silent_bound_ms is over
  int64_t silent_bound_ms = 10'000;    // FLAGS_worker_update_interval_secs

  // Sets what they say in a client's options.
  void Apply(PsClientOptions* client) const;
  // "name value" lines for a trainer with these options, with a mark where a variable set it.
  // Variables that the mode does not read are shown if they were set, as such.
  std::string Table(const ModeOptions& options) const;

  std::string set;  // names of the variables that were set, separated by blanks
};

// What variables say of a mode goes to *mode, the rest to the result. A variable that is set
// overrides what `flags` and *mode have, which are our defaults or a program's own.
// Errors name the variable, its value and what was expected; a value that has no meaning here
// (merge_sparse_grad 0) is one, and so is a name that begins with FLAGS_communicator_, FLAGS_rpc_
// or FLAGS_worker_ and that the original does not have either. Its other names are accepted and
// shown in the table.
StatusOr<CommunicatorFlags> CommunicatorFlagsFrom(const Environment& environment,
                                                  CommunicatorFlags flags, ModeOptions* mode);

}  // namespace flotilla
