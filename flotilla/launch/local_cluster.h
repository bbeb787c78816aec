// The launcher behind `flotilla launch`: starts the servers and trainers of a job on this machine
// as processes of any program, passes each its role through the environment, monitors them, and
// stops everything at the first failure, whose cause it appends to every log. Trainers are stopped
// first, and servers when the trainers have ended, so that a trainer can save through its servers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/base/turns.h"
#include "flotilla/launch/child_process.h"
#include "flotilla/launch/role.h"

namespace flotilla {

struct LocalClusterOptions {
  std::vector<std::string> command;  // the program and its arguments
  // All processes of the job. Those whose host is not in `own_hosts` are started elsewhere.
  std::vector<std::string> servers;        // "host:port"
  std::vector<std::string> trainer_hosts;  // one per trainer
  std::vector<std::string> own_hosts = {"127.0.0.1"};
  std::string log_dir = "log";  // serverlog.N and workerlog.N; created if it does not exist
  bool append_logs = false;     // to those of an earlier start of the job
  // After the first failure: how long the others may take to learn of it from each other and to end
  // by themselves, with the true cause in their logs, before they are asked to end.
  double hear_seconds = 2;
  // Seconds between asking processes to end and killing them: for trainers, then for servers.
  double grace_seconds = 10;
  // The same after a process was lost (ExitState::lost): the others wait for it in vain until
  // they notice, and have nothing to save.
  double lost_grace_seconds = 10;
  // How long servers may continue after every trainer has ended successfully, if all of them were
  // started here.
  double server_seconds = 30;
  // Number of trainers of this machine that train at the same time, if there are more: programs
  // that support it take turns (kTurnsVariable). 0: one more than the machine has cores, so that
  // all cores have work while a trainer waits for servers.
  int turns = 0;
  std::map<std::string, std::string> variables;  // for all processes, in addition to their role
};

// The outcome of a job. Everything was logged already.
struct ClusterResult {
  // Of the first process that failed. If we were told to stop: that of the first trainer that ended
  // with a permanent failure (1 to 127: it could not save, for example), else 128 + signal.
  int exit_code = 0;
  std::string failed;  // its name; empty: none
  bool lost = false;   // starting the job again may help (ExitState::lost)
};

// Not thread-safe.
class LocalCluster {
 public:
  // REQUIRES: clock outlives the cluster.
  LocalCluster(LocalClusterOptions options, const Clock* clock, LogLine log);
  // Kills all processes that still run.
  ~LocalCluster();

  // Starts all processes and returns when all have ended. `stop` is called ten times a second and
  // returns the signal to stop for, or 0; `idle` is called as often, for a live line. Returns an
  // error if a process cannot be started; then none is left running.
  StatusOr<ClusterResult> Run(const std::function<int()>& stop, const std::function<void()>& idle);

  // "log/workerlog.0.status" of each trainer here: where a trainer that supports it writes its
  // progress (kStatusFileVariable), and next to it its lines (StatusLinesFile), until Run returns.
  std::vector<std::string> status_files() const { return status_files_; }

 private:
  struct Member;

  Status StartAll();
  void MakeTurns(int trainers);
  Status StartMember(const Role& role, const std::string& log_name);
  // Checks all processes; keeps the first failure.
  void Look();
  // Begins to stop everything: trainers are asked to end now, servers when they have.
  void StopAll(const std::string& why);
  // A process has ended that failed, or was told to end.
  void TakeEnd(Member* member, const ExitState& state);
  // Continues to stop everything.
  void GoOnStopping();
  int64_t GraceNanos() const;
  // Asks the running servers, or trainers, to end, and writes the cause to their logs.
  void AskToEnd(bool servers);
  // Kills the processes that were asked to end.
  void KillAsked();
  void RemoveStatusFiles() const;
  bool AllEnded() const;
  // Whether no trainer that was started here still runs.
  bool OwnTrainersEnded() const;
  // Whether all trainers of the job were started here, and have ended.
  bool TrainersEnded() const;
  void WaitForEvent() const;

  const LocalClusterOptions options_;
  const Clock* const clock_;
  const LogLine log_;
  std::vector<std::unique_ptr<Member>> members_;
  std::unique_ptr<Turns> turns_;  // null: trainers do not take turns
  std::vector<std::string> status_files_;
  ClusterResult result_;
  std::string failure_;              // the first; empty: none
  int64_t stop_at_nanos_ = 0;        // 0: nothing has failed
  int64_t kill_at_nanos_ = 0;        // 0: no process was asked to stop
  bool servers_asked_ = false;       // servers were asked to stop, after the trainers
  std::string stop_cause_;           // why everything is stopped
  int64_t servers_until_nanos_ = 0;  // 0: trainers still run
};

// Variables in addition to those of the role: the file for a trainer's progress, the file for the
// results of trainer 0, the id of the job, and the name of the turns that trainers take.
inline constexpr char kStatusFileVariable[] = "FLOTILLA_STATUS_FILE";
inline constexpr char kResultFileVariable[] = "FLOTILLA_RESULT_FILE";
inline constexpr char kJobIdVariable[] = "FLOTILLA_JOB_ID";
inline constexpr char kTurnsVariable[] = "FLOTILLA_TURNS";

// The file next to a trainer's status file that holds lines for the console of the whole job.
inline std::string StatusLinesFile(const std::string& status_file) {
  return status_file + ".lines";
}

}  // namespace flotilla
