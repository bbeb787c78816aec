#include "flotilla/fleet/role_flags.h"

#include <CLI/CLI.hpp>

#include "flotilla/fleet/flags.h"

namespace flotilla {

void AddRoleFlags(CLI::App& command, const std::string& group, RoleFlags* flags) {
  command
      .add_option("--role", flags->role,
                  "Role of this process in a job that is started by hand: server or trainer "
                  "(default: taken from TRAINING_ROLE and the other PADDLE_ variables)")
      ->type_name("NAME")
      ->check(OneOf({"server", "trainer"}))
      ->group(group);
  command
      .add_option("--role_index", flags->index,
                  "Index of this process, from 0: of a server in --servers, or of a trainer")
      ->type_name("N")
      ->check(WholeNumber(0, 1'000'000))
      ->group(group);
  command
      .add_option("--servers", flags->servers, "All servers of that job, as host:port,host:port")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--trainers", flags->trainers, "Number of trainers of that job")
      ->type_name("N")
      ->check(WholeNumber(1, 1'000'000))
      ->group(group);
}

StatusOr<Role> ChooseRole(const RoleFlags& flags, const Role& from_environment) {
  const bool others = flags.index || !flags.servers.empty() || flags.trainers;
  if (!flags.role) {
    if (!others) return from_environment;
    return InvalidArgument("--role_index, --servers and --trainers need --role: give it too");
  }
  if (from_environment.kind != Role::Kind::kLocal) {
    return InvalidArgument("--role is {}, but TRAINING_ROLE makes this process a {}: leave one out",
                           *flags.role, from_environment.is_server() ? "server" : "trainer");
  }
  if (!flags.index || flags.servers.empty() || !flags.trainers) {
    return InvalidArgument("--role {} needs --role_index, --servers and --trainers", *flags.role);
  }
  const Role role{.kind = *flags.role == "server" ? Role::Kind::kServer : Role::Kind::kTrainer,
                  .index = *flags.index,
                  .servers = flags.servers,
                  .trainers = *flags.trainers,
                  .threads = from_environment.threads};
  FL_RETURN_IF_ERROR(Annotate(CheckRole(role), "--role " + *flags.role));
  return role;
}

}  // namespace flotilla
