// The role from flags, for processes that are started by hand: what the tutorials' variables say
// (launch/role_environment.h), on the command line.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
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

// The role that the flags give, or, where they give none, what the environment gave. Errors: flags
// that are missing, that contradict each other or CheckRole; a role from both sides.
StatusOr<Role> ChooseRole(const RoleFlags& flags, const Role& from_environment);

}  // namespace flotilla
