// A process's part in a job, in the words of the tutorials, for programs that keep the loop in
// their own hands. The same program is a server, a trainer or the whole of a local run:
//
//   fl::Fleet fleet;
//   FL_RETURN_IF_ERROR(fleet.init());                                 // role: the environment's
//   FL_RETURN_IF_ERROR(fleet.distributed_optimizer(model, {.sync_mode = false}));
//   if (fleet.is_server()) {
//     FL_RETURN_IF_ERROR(fleet.init_server(model_dir));
//     return fleet.run_server();
//   }
//   FL_RETURN_IF_ERROR(fleet.init_worker());
//   FL_ASSIGN_OR_RETURN(auto executor, fl::Executor::Make(std::move(model), &fleet.communicator(),
//                                                         {.threads = fleet.worker_threads()}));
//   .. executor->train_from_dataset(..), fleet.save_persistables(*executor, dir) ..
//   return fleet.stop_worker();
//
// `flotilla train` and fl::Main stand on it too. Names are those of the tutorials, so that a
// tutorial's line finds its counterpart; in them "worker" means a trainer process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/interrupt.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/group.h"
#include "flotilla/fleet/executor.h"
#include "flotilla/fleet/strategy.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/role.h"
#include "flotilla/launch/role_environment.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct FleetInit {
  // What this process is. Not set: what the environment says, local where it says nothing.
  std::optional<Role> role;
  // Where the role, the FLAGS_ variables and the job's id come from; what it says goes before what
  // `job` has. Empty: `role` and `job` say everything.
  Environment environment = ProcessEnvironment();
  // Deadlines and options of the modes. The strategy chooses among the modes.
  JobOptions job;
  // Of first values; the same in every process of a job.
  uint64_t seed = 0;
  // Raised when the job ends with an error; a program raises it to end what it waits for
  // (StopSignal). Null: the fleet has its own. Must outlive the fleet.
  Interrupt* interrupt = nullptr;
  LogLine log;                   // empty: standard error
  const Clock* clock = nullptr;  // null: the machine's; must outlive the fleet
};

// Calls come in the order of the example; one out of turn is FailedPrecondition. Not thread-safe.
class Fleet {
 public:
  Fleet() = default;
  // A worker that is destroyed between init_worker and stop_worker ends the job for everyone.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Finds out what this process is; connects to nobody. Every contradiction of the environment is
  // an error that names the variable.
  Status init(FleetInit options = {});

  // Locally this process is the only worker, and there are no servers. Before init likewise.
  bool is_server() const { return role_.is_server(); }
  bool is_worker() const { return !role_.is_server(); }
  bool is_first_worker() const { return is_worker() && worker_index() == 0; }
  int worker_num() const { return role_.trainers; }
  // Of this worker. REQUIRES: is_worker().
  int worker_index() const { return role_.is_trainer() ? role_.index : 0; }
  int server_num() const { return static_cast<int>(role_.servers.size()); }
  // Threads that the environment gives this worker (CPU_NUM), else the cores of the machine.
  int worker_threads() const;
  const Role& role() const { return role_; }

  // This worker's share of the files, which all workers must name alike, in any order: sorted, then
  // contiguous blocks. Empty where there are more workers than files; no files at all is an error.
  StatusOr<std::vector<std::string>> split_files(std::vector<std::string> files) const;

  // What is trained, and how: the tutorials' distributed_optimizer(optimizer,
  // strategy).minimize(loss); the model has its optimizer and its loss. Nothing of the model
  // changes, and it is not kept. Every process of a job must say the same: servers refuse a worker
  // that differs.
  Status distributed_optimizer(const Model& model, const Strategy& strategy = {});

  // The servers start from first values, or from a saved model: each reads its share of the
  // directory, whatever the number of servers that wrote it. Say the same on all servers.
  Status init_server(const std::string& model_dir = "", const LoadOptions& options = {});
  // Serves until every worker has stopped (Ok), or the job has failed: its first error. `stop`, if
  // there is one, is asked ten times a second and ends the server when true.
  Status run_server(const std::function<bool()>& stop = {});

  // Meets the servers, waiting for those that are not up yet, or until `stop` is true; locally
  // makes the parameters here.
  Status init_worker(const std::function<bool()>& stop = {});

  // REQUIRES, up to stop_worker: init_worker has succeeded.
  Communicator& communicator() { return *job_.communicator; }
  Group& group() { return *job_.group; }
  const TrainerJob& job() const { return job_; }
  // For datasets that read from pipe commands or wait otherwise (SlotDataset::set_interrupt): a
  // worker that waits for data then hears of the end of the job.
  const Interrupt& interrupt() const { return *interrupt_; }

  // The calls of the group are collective: every worker makes them, in the same order. So are
  // epochs: workers train as many of them, also those that have no file.
  Status barrier() { return job_.group->Barrier("barrier"); }
  // Makes rows, loss and metrics of a worker's report those of all workers. Collective.
  Status global_report(const Model& model, Report* report);

  // The servers' truth in every mode, by the first worker for all; the others return Ok at once.
  // Beside workers that train it is a moment of theirs (docs/checkpoint_format.md). Between two
  // calls of barrier() by every worker it is exact: it has all of the epochs that ended before and
  // nothing of the next.
  Status save_persistables(Executor& executor, const std::string& dir);
  // What prediction needs and nothing else; see Executor.
  Status save_inference_model(Executor& executor, const std::string& dir, Var predict = {});

  // This worker has ended: well, and when all have, the servers end; or with an error, which every
  // other process is told. Batches that were fed and not ended with Executor::end_pass are applied
  // first. Returns `outcome`, or why that, or telling the servers, failed.
  Status stop_worker(const Status& outcome = absl::OkStatus());

 private:
  enum class Stage { kNew, kInit, kModel, kServer, kWorker, kEnded };

  // FailedPrecondition unless the stage is `wanted`.
  Status Need(Stage wanted, const char* call, const char* before) const;
  void Tell(const std::string& line) const { log_(line); }

  Stage stage_ = Stage::kNew;
  Role role_;
  JobOptions job_options_;
  uint64_t seed_ = 0;
  LogLine log_;
  SteadyClock own_clock_;
  const Clock* clock_ = &own_clock_;
  Interrupt own_interrupt_;
  Interrupt* interrupt_ = &own_interrupt_;
  ModelSpec spec_;
  TrainerJob job_;
};

}  // namespace flotilla
