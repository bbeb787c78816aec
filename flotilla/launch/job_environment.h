// What the environment says of a process's part in a job: its role, the tutorials' FLAGS_
// variables, and what a launcher adds for the programs that know of it.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/launch/communicator_flags.h"
#include "flotilla/launch/role.h"
#include "flotilla/launch/role_environment.h"

namespace flotilla {

struct JobEnvironment {
  Role role;
  CommunicatorFlags flags;
  ModeOptions mode;  // what the FLAGS_ variables say of modes; its name is not read
  std::string job_id = "flotilla";
  std::string status_file;  // where a trainer leaves its figures; empty: nobody asks for them
  std::string result_file;  // where trainer 0 leaves the results; likewise
  std::string turns;        // for Turns::Open; empty: trainers take none
};

// What variables say in the place of what `job` has. Errors name the variable, its value and what
// was expected.
StatusOr<JobEnvironment> JobFromEnvironment(const Environment& environment,
                                            JobEnvironment job = {});

// A name for a new job that no other has: from the clock.
std::string NewJobId();

}  // namespace flotilla
