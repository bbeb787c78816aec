// The role of a process in a job, with the API of PaddlePaddle's Fleet tutorials, for programs with
// their own training loop. The same program is a server, a trainer or a complete local run:
//
//   fl::Fleet fleet;
//   FL_RETURN_IF_ERROR(fleet.init());                                 // role: from the environment
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
// Names are those of the tutorials, so that each
// line of a tutorial has a counterpart; in these names "worker" means a trainer process.
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
#include "flotilla/run/job_part.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"

namespace flotilla {

struct FleetInit {
  // The role of this process; the variables of the role are then not read. Not set: taken from the
  // environment, local if that has none.
  std::optional<Role> role;
  // The source of the role, the FLAGS_ variables and the job's id; it takes precedence over `job`.
  // Empty: only `role` and `job` count.
  Environment environment = ProcessEnvironment();
  // Deadlines and options of the modes. The strategy chooses among the modes.
  JobOptions job;
  // Seed of initial values; must be the same in every process of a job.
  uint64_t seed = 0;
  // Raised when the job ends with an error; a program raises it to end its own waiting calls
  // (StopSignal). Null: the fleet creates one. Must outlive the fleet.
  Interrupt* interrupt = nullptr;
  LogLine log;                   // empty: standard error
  const Clock* clock = nullptr;  // null: the machine's; must outlive the fleet
};

// Calls must follow the order of the example; a call out of order is FailedPrecondition. Not
// thread-safe.
class Fleet {
 public:
  Fleet() = default;
  // A worker that is destroyed between init_worker and stop_worker ends the job for all processes.
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Determines the role of this process; does not connect to other processes. Every contradiction
  // in the environment is an error that names the variable.
  Status init(FleetInit options = {});

  // In a local run, and before init, this process is the only worker and there are no servers.
  bool is_server() const { return part_.role.is_server(); }
  bool is_worker() const { return !part_.role.is_server(); }
  bool is_first_worker() const { return is_worker() && worker_index() == 0; }
  int worker_num() const { return part_.role.trainers; }
  // The index of this worker. REQUIRES: is_worker().
  int worker_index() const { return part_.role.is_trainer() ? part_.role.index : 0; }
  int server_num() const { return static_cast<int>(part_.role.servers.size()); }
  // Threads that the environment gives this worker (CPU_NUM), else the cores of the machine.
  int worker_threads() const;
  const Role& role() const { return part_.role; }

  // This worker's share of the files: they are sorted and split into contiguous blocks. All workers
  // must pass the same files, in any order. May be empty if there are more workers than files; an
  // empty list of files is an error.
  StatusOr<std::vector<std::string>> split_files(std::vector<std::string> files) const;

  // Sets the model and the strategy: the tutorials' distributed_optimizer(optimizer,
  // strategy).minimize(loss); the model contains its optimizer and its loss. The model is not
  // changed and not stored. Every process of a job must pass the same: servers reject a worker that
  // differs.
  Status distributed_optimizer(const Model& model, const Strategy& strategy = {});

  // The servers start from initial values or from a saved model: each reads its share of the
  // directory, whatever the number of servers that wrote it. Pass the same on all servers.
  Status init_server(const std::string& model_dir = "", const LoadOptions& options = {});
  // Serves until every worker has stopped (Ok) or the job has failed (its first error). `stop`, if
  // not empty, is called ten times a second and ends the server when it returns true.
  Status run_server(const std::function<bool()>& stop = {});

  // Connects to the servers, waiting for those that are not up yet until `stop` returns true; in a
  // local run makes the parameters in this process.
  Status init_worker(const std::function<bool()>& stop = {});

  // REQUIRES, up to stop_worker: init_worker has succeeded.
  Communicator& communicator() { return *job_.communicator; }
  Group& group() { return *job_.group; }
  const TrainerJob& job() const { return job_; }
  TrainerJob& job() { return job_; }
  // For datasets that read from pipe commands or may block otherwise (SlotDataset::set_interrupt):
  // lets a worker that waits for data notice the end of the job.
  const Interrupt& interrupt() const { return *interrupt_; }

  // The calls of the group are collective: every worker makes them, in the same order. So are
  // epochs: all workers train the same number of them, including those that have no file.
  Status barrier() { return job_.group->Barrier("barrier"); }
  // Replaces rows, loss and metrics of a worker's report by those of all workers. Collective.
  Status global_report(const Model& model, Report* report);

  // Saves the parameters of the servers, in every mode; the first worker saves for all, the others
  // return Ok at once. While workers train, the model is a snapshot in the middle of their work
  // (docs/checkpoint_format.md). Between two calls of barrier() by every worker it is exact: it
  // includes all of the epochs that ended before and nothing of the next.
  Status save_persistables(Executor& executor, const std::string& dir);
  // Saves only what prediction needs; see Executor.
  Status save_inference_model(Executor& executor, const std::string& dir, Var predict = {});

  // Ends this worker: with Ok, and once all workers have ended, the servers end; or with an error,
  // which is reported to every other process. Batches that were fed and not ended with
  // Executor::end_pass are applied first. Returns `outcome`, or the error of applying them or of
  // notifying the servers.
  Status stop_worker(const Status& outcome = absl::OkStatus());

 private:
  enum class Stage { kNew, kInit, kModel, kServer, kWorker, kEnded };

  // FailedPrecondition unless the stage is `wanted`.
  Status Need(Stage wanted, const char* call, const char* before) const;

  Stage stage_ = Stage::kNew;
  JobPart part_;
  uint64_t seed_ = 0;
  LogLine log_;
  SteadyClock own_clock_;
  const Clock* clock_ = &own_clock_;
  Interrupt own_interrupt_;
  Interrupt* interrupt_ = &own_interrupt_;
  TrainerJob job_;
};

}  // namespace flotilla
