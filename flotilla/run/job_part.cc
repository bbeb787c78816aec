#include "flotilla/run/job_part.h"

#include <utility>

#include "flotilla/base/stop_signal.h"
#include "flotilla/run/graph_text.h"

namespace flotilla {

StatusOr<JobPart> MakeJobPart(Role role, JobOptions options, const Model& model, uint64_t seed) {
  FL_RETURN_IF_ERROR(CheckRole(role));
  FL_RETURN_IF_ERROR(model.graph.status());
  std::string& mode = options.mode.mode;
  const bool local = role.kind == Role::Kind::kLocal;
  if (!local && !GetMode(mode).has_servers) {
    return InvalidArgument("strategy: mode is {}, but TRAINING_ROLE makes this process {}", mode,
                           role.ToString());
  }
  if (local) mode = kLocalMode;
  FL_ASSIGN_OR_RETURN(options.graph_text, GraphText(model));
  return JobPart{
      .role = std::move(role), .options = std::move(options), .spec = SpecOf(model, seed)};
}

StatusOr<TrainerJob> JoinAs(const JobPart& part, const Clock* clock, const LogLine& log) {
  if (part.role.is_trainer()) {
    log(fmt::format("{}, mode {}", part.role.ToString(), part.options.mode.mode));
    log("communication:\n" + part.options.flags.Table(part.options.mode));
  }
  return JoinJob(part.role, part.spec, part.options, clock, log);
}

Status ServeModel(const FleetOptions& options, const Model& model, uint64_t seed,
                  Terminal& terminal) {
  const StopSignal signal;
  FL_ASSIGN_OR_RETURN(const JobPart part, MakeJobPart(options.role, options.job, model, seed));
  const Status status = RunServer(
      part.role, part.spec, part.options, &terminal.clock,
      [&](std::string_view line) { terminal.log.info("{}", line); },
      [&] { return signal.stopped(); });
  if (signal.stopped()) {
    terminal.log.info("stopped by signal {}: {}", signal.signal(),
                      status.ok() ? "the trainers have ended" : Message(status));
    terminal.exit_code = signal.exit_code();
    return absl::OkStatus();
  }
  if (status.ok()) terminal.log.info("the trainers have ended");
  return status;
}

}  // namespace flotilla
