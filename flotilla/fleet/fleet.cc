#include "flotilla/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "flotilla/dataset/file_list.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/graph_text.h"
#include "flotilla/fleet/group_report.h"
#include "flotilla/launch/job_environment.h"

namespace flotilla {

Fleet::~Fleet() {
  if (stage_ != Stage::kWorker) return;
  job_.Abort(absl::UnknownError(
      fmt::format("{} ended before stop_worker: see its log for the reason", role_.ToString())));
}

Status Fleet::Need(Stage wanted, const char* call, const char* before) const {
  if (stage_ == wanted) return absl::OkStatus();
  return FailedPrecondition("fleet: {} must be called once, after {}", call, before);
}

Status Fleet::init(FleetInit options) {
  FL_RETURN_IF_ERROR(Need(Stage::kNew, "init", "nothing else"));
  job_options_ = std::move(options.job);
  if (!options.environment.empty()) {
    FL_ASSIGN_OR_RETURN(JobEnvironment found,
                        JobFromEnvironment(options.environment, {.flags = job_options_.flags,
                                                                 .mode = job_options_.mode,
                                                                 .job_id = job_options_.job_id}));
    role_ = std::move(found.role);
    job_options_.flags = std::move(found.flags);
    job_options_.mode = std::move(found.mode);
    job_options_.job_id = std::move(found.job_id);
    job_options_.turns = std::move(found.turns);
  }
  if (options.role) role_ = *std::move(options.role);
  FL_RETURN_IF_ERROR(CheckRole(role_));
  seed_ = options.seed;
  if (options.interrupt != nullptr) interrupt_ = options.interrupt;
  job_options_.interrupt = interrupt_;
  if (options.clock != nullptr) clock_ = options.clock;
  log_ = options.log ? std::move(options.log)
                     : [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  stage_ = Stage::kInit;
  return absl::OkStatus();
}

int Fleet::worker_threads() const { return role_.threads.value_or(Cores()); }

StatusOr<std::vector<std::string>> Fleet::split_files(std::vector<std::string> files) const {
  if (files.empty()) return InvalidArgument("split_files: there are no files");
  std::sort(files.begin(), files.end());
  return SplitFiles(files, worker_num(), worker_index());
}

Status Fleet::distributed_optimizer(const Model& model, const Strategy& strategy) {
  FL_RETURN_IF_ERROR(Need(Stage::kInit, "distributed_optimizer", "init"));
  FL_RETURN_IF_ERROR(model.graph.status());
  FL_RETURN_IF_ERROR(ApplyStrategy(strategy, &job_options_));
  std::string& mode = job_options_.mode.mode;
  const bool local = role_.kind == Role::Kind::kLocal;
  if (!local && !GetMode(mode).has_servers) {
    return InvalidArgument("strategy: mode is {}, but TRAINING_ROLE makes this process {}", mode,
                           role_.ToString());
  }
  if (local) mode = kLocalMode;
  FL_ASSIGN_OR_RETURN(job_options_.graph_text, GraphText(model));
  spec_ = SpecOf(model, seed_);
  stage_ = Stage::kModel;
  return absl::OkStatus();
}

Status Fleet::init_server(const std::string& model_dir, const LoadOptions& options) {
  FL_RETURN_IF_ERROR(Need(Stage::kModel, "init_server", "distributed_optimizer"));
  if (!is_server()) return FailedPrecondition("init_server: this process is {}", role_.ToString());
  job_options_.init_model = model_dir;
  job_options_.init_options = options;
  stage_ = Stage::kServer;
  return absl::OkStatus();
}

Status Fleet::run_server(const std::function<bool()>& stop) {
  FL_RETURN_IF_ERROR(Need(Stage::kServer, "run_server", "init_server"));
  stage_ = Stage::kEnded;
  return RunServer(
      role_, spec_, job_options_, clock_, log_, stop ? stop : [] { return false; });
}

Status Fleet::init_worker(const std::function<bool()>& stop) {
  FL_RETURN_IF_ERROR(Need(Stage::kModel, "init_worker", "distributed_optimizer"));
  if (is_server()) return FailedPrecondition("init_worker: this process is {}", role_.ToString());
  if (stop) job_options_.stop = stop;
  const std::string& mode = job_options_.mode.mode;
  if (role_.is_trainer()) Tell(fmt::format("{}, mode {}", role_.ToString(), mode));
  if (role_.is_trainer()) Tell("communication:\n" + job_options_.flags.Table(job_options_.mode));
  FL_ASSIGN_OR_RETURN(job_, JoinJob(role_, spec_, job_options_, clock_, log_));
  stage_ = Stage::kWorker;
  return absl::OkStatus();
}

Status Fleet::global_report(const Model& model, Report* report) {
  return SumReports("report", model.metrics, group(), report);
}

Status Fleet::save_persistables(Executor& executor, const std::string& dir) {
  return is_first_worker() ? executor.save_persistables(dir) : absl::OkStatus();
}

Status Fleet::save_inference_model(Executor& executor, const std::string& dir, Var predict) {
  return is_first_worker() ? executor.save_inference_model(dir, predict) : absl::OkStatus();
}

Status Fleet::stop_worker(const Status& outcome) {
  // Before init_worker there is no other process to report an error to.
  if (stage_ != Stage::kWorker && !outcome.ok()) return outcome;
  FL_RETURN_IF_ERROR(Need(Stage::kWorker, "stop_worker", "init_worker"));
  stage_ = Stage::kEnded;
  if (outcome.ok()) return job_.Stop();
  job_.Abort(outcome);
  return outcome;
}

}  // namespace flotilla
