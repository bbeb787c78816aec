// The seeds' FLAGS_ variables: what a user of the original sets to steer communication, read into
// our options, and shown as a table at the start of a trainer.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/async_communicator.h"
#include "flotilla/launch/role_environment.h"

namespace flotilla {

struct CommunicatorFlags {
  AsyncOptions async;
  int64_t rpc_deadline_ms = 180'000;
  int rpc_retry_times = 3;
  int64_t silent_bound_ms = 10'000;  // FLAGS_worker_update_interval_secs

  // Sets what they say in a client's options.
  void Apply(PsClientOptions* client) const;
  // "name value" lines with a mark where a variable set it.
  std::string Table() const;

  std::string set;  // names of the variables that were set, separated by blanks
};

// Starts from our defaults; a variable that is set overrides its value. Errors name the variable,
// its value and what was expected; a value that has no meaning here (merge_sparse_grad 0) is one.
StatusOr<CommunicatorFlags> CommunicatorFlagsFrom(const Environment& environment);

}  // namespace flotilla
