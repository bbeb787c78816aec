// The role from the tutorials' variables, both ways: what a launcher sets and a process reads.
//
//   TRAINING_ROLE                  TRAINER or PSERVER; not set: local
//   PADDLE_TRAINERS_NUM            how many trainers there are
//   PADDLE_TRAINER_ID              this trainer's number, from 0
//   PADDLE_PSERVERS_IP_PORT_LIST   the servers, "host:port,host:port"
//   POD_IP, PADDLE_PORT            this server's own address; its place in the list is its number
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

// The process's own.
Environment ProcessEnvironment();

// The value of a variable, or nothing if it is not set.
std::optional<std::string> ValueOf(const Environment& environment, const std::string& name);

// Finds every contradiction before anything is connected; an error names the variable, its value
// and what was expected.
StatusOr<Role> RoleFromEnvironment(const Environment& environment);

// The variables that make RoleFromEnvironment give `role`. REQUIRES: CheckRole(role).ok(), and the
// role is not local.
std::map<std::string, std::string> EnvironmentOfRole(const Role& role);

}  // namespace flotilla
