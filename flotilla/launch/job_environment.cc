#include "flotilla/launch/job_environment.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "flotilla/launch/local_cluster.h"

namespace flotilla {

StatusOr<JobEnvironment> JobFromEnvironment(const Environment& environment, JobEnvironment job,
                                            std::optional<Role> role) {
  if (role) {
    job.role = *std::move(role);
  } else {
    FL_ASSIGN_OR_RETURN(job.role, RoleFromEnvironment(environment));
  }
  FL_ASSIGN_OR_RETURN(job.flags,
                      CommunicatorFlagsFrom(environment, std::move(job.flags), &job.mode));
  job.job_id = ValueOf(environment, kJobIdVariable).value_or(job.job_id);
  job.status_file = ValueOf(environment, kStatusFileVariable).value_or(job.status_file);
  job.result_file = ValueOf(environment, kResultFileVariable).value_or(job.result_file);
  job.turns = ValueOf(environment, kTurnsVariable).value_or(job.turns);
  return job;
}

std::string NewJobId() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{:x}", static_cast<uint64_t>(now));
}

}  // namespace flotilla
