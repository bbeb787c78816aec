// The part of this process in a job: its role, and everything that it must agree on with the other
// processes. launch/job.h runs it; in one process without servers it is the whole job.
#pragma once

#include <cstdint>

#include "flotilla/base/clock.h"
#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/launch/job.h"
#include "flotilla/launch/role.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

struct JobPart {
  Role role;
  JobOptions options;
  ModelSpec spec;
};

// Adds the model to the role and the options. The mode of a local role becomes local. Errors: those
// of the role and of the graph; a mode without servers for a role in a job.
StatusOr<JobPart> MakeJobPart(Role role, JobOptions options, const Model& model, uint64_t seed);

// JoinJob; a trainer of a job first logs its role and the options of its communication.
StatusOr<TrainerJob> JoinAs(const JobPart& part, const Clock* clock, const LogLine& log);

// Runs a server: serves the model's parameters until the trainers have ended, or a signal ends it.
Status ServeModel(const FleetOptions& options, const Model& model, uint64_t seed,
                  Terminal& terminal);

}  // namespace flotilla
