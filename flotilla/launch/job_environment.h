// The settings of a process in a job that come from the environment: its role, the tutorials'
// FLAGS_ variables, and variables of the launcher for programs that support them.
#pragma once

#include <optional>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/launch/communicator_flags.h"
#include "flotilla/launch/role.h"
#include "flotilla/launch/role_environment.h"

namespace flotilla {

struct JobEnvironment {
  Role role;
  CommunicatorFlags flags;
  ModeOptions mode;  // options of modes from FLAGS_ variables; its name is not read
  std::string job_id = "flotilla";
  std::string status_file;  // where a trainer writes its progress; empty: nowhere
  std::string result_file;  // where trainer 0 writes the results; empty: nowhere
  std::string turns;        // for Turns::Open; empty: trainers do not take turns
};

// `job` with the values of the variables that are set. Errors name the variable, its value and what
// was expected. If `role` is given, it is the role, and the variables of the role are not read.
StatusOr<JobEnvironment> JobFromEnvironment(const Environment& environment, JobEnvironment job = {},
                                            std::optional<Role> role = {});

// A unique id for a new job, made from the clock.
std::string NewJobId();

}  // namespace flotilla
