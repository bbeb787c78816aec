// The role of a process in a job with servers: a server runs until its trainers have ended; a
// trainer gets the communicator of its mode and the group of all trainers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "flotilla/base/clock.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/client/ps_client.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/group.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/launch/communicator_flags.h"
#include "flotilla/launch/role.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

struct JobOptions {
  std::string job_id = "flotilla";  // the same in every process of a job
  ModeOptions mode;
  // Properties of the model that the spec does not contain, as lines: the graph, and a hash of the
  // words that the ids stand for, if they do. Compared in the handshake.
  std::string graph_text;
  std::string dictionary_hash;
  int64_t start_timeout_ms = 300'000;
  // How long a server that is told to stop continues to serve trainers that have not ended.
  int64_t stop_grace_ms = 7'000;
  // A trainer calls it while it waits for servers: true ends the wait. May be empty.
  std::function<bool()> stop;
  // Bound of the resident memory of each process, in bytes; 0: none. A server that passes it asks
  // its trainers to save and to stop, and ends with the cause; if they have neither begun a save
  // nor stopped after asked_grace_ms, it ends the job. Trainers watch their memory themselves
  // (run/run.h).
  int64_t max_memory = 0;
  int64_t asked_grace_ms = 30'000;
  // Called in a trainer, by any thread, if a server asks it to save and to stop. May be empty.
  std::function<void(const std::string& cause)> on_stop_asked;
  // Raised by a trainer with the error that ends the job, so that threads that wait for data are
  // interrupted. May be null; must outlive the TrainerJob.
  Interrupt* interrupt = nullptr;
  CommunicatorFlags flags;
  std::string turns;  // of the trainers of this machine (AsyncOptions::turns); empty: none
  // Servers can access the model directories that trainer 0 names; otherwise models pass through
  // trainer 0.
  bool shared_storage = true;
  bool half_dense = false;  // PsClientOptions::half_dense
  // Processes of one machine exchange tensors through shared memory (rpc/shared_memory.h).
  bool shared_memory = true;
  std::string init_model;    // servers start from this model directory; empty: from initial values
  LoadOptions init_options;  // what to load of init_model
};

// Serves until every trainer has stopped (Ok; ResourceExhausted if a trainer did so before its work
// was done because this server has passed max_memory) or the job has failed (its first error).
// `log` receives messages for the user. `stop` is called about ten times a second. Once it returns
// true, the server continues to serve its trainers, which were probably told to stop as well and
// may save, as long as any of them is active, but no longer than stop_grace_ms; then it ends the
// job, and itself once the trainers have been notified. REQUIRES: role.is_server(); the mode has
// servers.
Status RunServer(const Role& role, const ModelSpec& spec, const JobOptions& options,
                 const Clock* clock, const LogLine& log, const std::function<bool()>& stop);

// The objects of a trainer of a job. Members are destroyed from the last to the first.
struct TrainerJob {
  std::unique_ptr<PsClient> client;  // null in local mode
  std::unique_ptr<Communicator> communicator;
  LocalCommunicator* local = nullptr;  // the communicator, in local mode
  std::unique_ptr<Group> group;

  // Ends an open epoch (Communicator::Flush) and tells the servers that this trainer has ended
  // successfully; or, with `asked`, that it ends before its work is done because a server has asked
  // for it. An error of Flush ends the job for all processes.
  Status Stop(bool asked = false);
  // Ends the job for all processes, with the cause.
  void Abort(const Status& cause) {
    if (client != nullptr) client->Abort(cause);
  }
};

// Connects to the servers, waiting for them up to start_timeout_ms; the error names those that are
// not up. In local mode makes the parameters in this process. REQUIRES: the role is not a server.
StatusOr<TrainerJob> JoinJob(const Role& role, const ModelSpec& spec, const JobOptions& options,
                             const Clock* clock, const LogLine& log);

}  // namespace flotilla
