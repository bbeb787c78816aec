// The role in the tutorials' variables, in both directions: a launcher sets them, a process reads
// them.
//
//   TRAINING_ROLE                  TRAINER or PSERVER; not set: local
//   PADDLE_TRAINERS_NUM            number of trainers
//   PADDLE_TRAINER_ID              index of this trainer, from 0
//   PADDLE_PSERVERS_IP_PORT_LIST   the servers, "host:port,host:port"
//   POD_IP, PADDLE_PORT            address of this server; its position in the list is its index
//   CPU_NUM                        workers of a trainer, or of a local run; optional
#pragma once

#include <map>
#include <optional>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/launch/role.h"

namespace flotilla {

// Variables and their values.
using Environment = std::map<std::string, std::string>;

// The environment of this process.
Environment ProcessEnvironment();

// The value of a variable, or nullopt if it is not set.
std::optional<std::string> ValueOf(const Environment& environment, const std::string& name);

// Finds every contradiction before anything is connected; an error names the variable, its value
// and what was expected.
StatusOr<Role> RoleFromEnvironment(const Environment& environment);

// The variables from which RoleFromEnvironment returns `role`. REQUIRES: CheckRole(role).ok(), and
// the role is not local.
std::map<std::string, std::string> EnvironmentOfRole(const Role& role);

}  // namespace flotilla
