// The role from flags, for processes that are started by hand: the command-line counterpart of the
// tutorials' environment variables (launch/role_environment.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/launch/role.h"

namespace flotilla {

struct RoleFlags {
  std::optional<std::string> role;  // server or trainer; not set: no role
  std::optional<int> index;
  std::vector<std::string> servers;
  std::optional<int> trainers;
};

// Declares --role, --role_index, --servers and --trainers. REQUIRES: flags outlive the command.
void AddRoleFlags(CLI::App& command, const std::string& group, RoleFlags* flags);

// The role given by the flags or, if they give none, the one from the environment. Errors: flags
// that are missing, contradict each other or fail CheckRole; a role from both sides.
StatusOr<Role> ChooseRole(const RoleFlags& flags, const Role& from_environment);

}  // namespace flotilla
