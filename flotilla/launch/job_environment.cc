#include "flotilla/launch/job_environment.h"

#include "flotilla/launch/local_cluster.h"

namespace flotilla {

StatusOr<JobEnvironment> JobFromEnvironment(const Environment& environment) {
  JobEnvironment job;
  FL_ASSIGN_OR_RETURN(job.role, RoleFromEnvironment(environment));
  FL_ASSIGN_OR_RETURN(job.flags, CommunicatorFlagsFrom(environment));
  job.job_id = environment(kJobIdVariable).value_or(job.job_id);
  job.status_file = environment(kStatusFileVariable).value_or("");
  job.result_file = environment(kResultFileVariable).value_or("");
  return job;
}

}  // namespace flotilla
