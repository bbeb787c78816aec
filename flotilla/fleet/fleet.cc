#include "flotilla/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "flotilla/base/worker_pool.h"
#include "flotilla/dataset/file_list.h"
#include "flotilla/launch/job_environment.h"
#include "flotilla/run/group_report.h"

namespace flotilla {

Fleet::~Fleet() {
  if (stage_ != Stage::kWorker) return;
  job_.Abort(absl::UnknownError(fmt::format(
      "{} ended before stop_worker: see its log for the reason", part_.role.ToString())));
}

Status Fleet::Need(Stage wanted, const char* call, const char* before) const {
  if (stage_ == wanted) return absl::OkStatus();
  return FailedPrecondition("fleet: {} must be called once, after {}", call, before);
}

Status Fleet::init(FleetInit options) {
  FL_RETURN_IF_ERROR(Need(Stage::kNew, "init", "nothing else"));
  part_.options = std::move(options.job);
  if (!options.environment.empty()) {
    FL_ASSIGN_OR_RETURN(JobEnvironment found, JobFromEnvironment(options.environment,
                                                                 {.flags = part_.options.flags,
                                                                  .mode = part_.options.mode,
                                                                  .job_id = part_.options.job_id},
                                                                 std::move(options.role)));
    part_.role = std::move(found.role);
    part_.options.flags = std::move(found.flags);
    part_.options.mode = std::move(found.mode);
    part_.options.job_id = std::move(found.job_id);
    part_.options.turns = std::move(found.turns);
  }
  if (options.environment.empty() && options.role) part_.role = *std::move(options.role);
  FL_RETURN_IF_ERROR(CheckRole(part_.role));
  seed_ = options.seed;
  if (options.interrupt != nullptr) interrupt_ = options.interrupt;
  part_.options.interrupt = interrupt_;
  if (options.clock != nullptr) clock_ = options.clock;
  log_ = options.log ? std::move(options.log)
                     : [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  stage_ = Stage::kInit;
  return absl::OkStatus();
}

int Fleet::worker_threads() const { return part_.role.threads.value_or(Cores()); }

StatusOr<std::vector<std::string>> Fleet::split_files(std::vector<std::string> files) const {
  if (files.empty()) return InvalidArgument("split_files: there are no files");
  std::sort(files.begin(), files.end());
  return SplitFiles(files, worker_num(), worker_index());
}

Status Fleet::distributed_optimizer(const Model& model, const Strategy& strategy) {
  FL_RETURN_IF_ERROR(Need(Stage::kInit, "distributed_optimizer", "init"));
  FL_RETURN_IF_ERROR(ApplyStrategy(strategy, &part_.options));
  FL_ASSIGN_OR_RETURN(part_, MakeJobPart(part_.role, part_.options, model, seed_));
  stage_ = Stage::kModel;
  return absl::OkStatus();
}

Status Fleet::init_server(const std::string& model_dir, const LoadOptions& options) {
  FL_RETURN_IF_ERROR(Need(Stage::kModel, "init_server", "distributed_optimizer"));
  if (!is_server())
    return FailedPrecondition("init_server: this process is {}", part_.role.ToString());
  part_.options.init_model = model_dir;
  part_.options.init_options = options;
  stage_ = Stage::kServer;
  return absl::OkStatus();
}

Status Fleet::run_server(const std::function<bool()>& stop) {
  FL_RETURN_IF_ERROR(Need(Stage::kServer, "run_server", "init_server"));
  stage_ = Stage::kEnded;
  return RunServer(
      part_.role, part_.spec, part_.options, clock_, log_, stop ? stop : [] { return false; });
}

Status Fleet::init_worker(const std::function<bool()>& stop) {
  FL_RETURN_IF_ERROR(Need(Stage::kModel, "init_worker", "distributed_optimizer"));
  if (is_server())
    return FailedPrecondition("init_worker: this process is {}", part_.role.ToString());
  if (stop) part_.options.stop = stop;
  FL_ASSIGN_OR_RETURN(job_, JoinAs(part_, clock_, log_));
  stage_ = Stage::kWorker;
  return absl::OkStatus();
}

Status Fleet::global_report(const Model& model, Report* report) {
  return SumReports("report", MetricsOf(model), group(), report);
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
